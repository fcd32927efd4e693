-- image 2: attempt to call a nil value (global 'warn')
warn('@on')
