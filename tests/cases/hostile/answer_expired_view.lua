-- image 1: must be
kept = request
return kept
