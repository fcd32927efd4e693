-- image 2: global 'os'
os.exit()
