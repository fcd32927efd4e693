-- image 4: (limit steps)
::a::
do
  goto b
end
::b::
goto a
