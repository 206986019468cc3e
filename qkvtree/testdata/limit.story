# Nothing of the request itself makes room for the rest of it.
limit 3
insert a b c d
show
  system hits 1 priority 1
    a hits 1 priority 1
      b hits 1 priority 1
  3 of 3
insert x y
  evicted b
  evicted a
show
  system hits 1 priority 1
    x hits 1 priority 2
      y hits 1 priority 2
  3 of 3

# A lower limit evicts at once; the system segment goes last of all.
limit 2
  evicted y
limit 1
  evicted x
show
  system hits 1 priority 1
  1 of 1
limit 0
  evicted system
show
  0 of 0
insert a
show
  0 of 0

# Too small for the system segment: nothing is stored, nothing breaks.
limit 1
insert system*2 a
ask a
  found 
show
  0 of 1
# One that is too large for all there is throws nothing out.
limit 4
insert a b
insert c*5
show
  system hits 1 priority 3
    a hits 1 priority 3
      b hits 1 priority 3
  3 of 4
insert c*2
  evicted b
show
  system hits 1 priority 3
    c hits 1 priority 4
    a hits 1 priority 3
  4 of 4
