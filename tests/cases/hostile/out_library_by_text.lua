-- image 2: attempt to index a string value (constant '')
('').format = nil
