-- image 2: missing ']'
return ('a'):find('[a')
