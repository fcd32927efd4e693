-- image 3: (limit steps)
::again::
goto again
