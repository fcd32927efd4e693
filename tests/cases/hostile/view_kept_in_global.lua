-- image 6: attempt to index a nil value (field 'nothing')
if kept then
  return kept.runtime_name
end
kept = request
return kept.nothing.at.all
