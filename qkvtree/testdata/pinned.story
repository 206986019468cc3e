# The system segment of a space stays though nobody asks for it, ...
limit 4
insert
space t
insert a
insert b
insert c
  evicted a
insert d
  evicted b
show
  system hits 1 priority 1
    d hits 1 priority 2
    c hits 1 priority 2
  4 of 4
space s
show
  system hits 1 priority 1
  4 of 4

# ... until the space has another model.
model n
insert
  evicted c (of t, m)
space t
model m
insert e
  evicted system (of s, m)
insert f
  evicted d
show
  system hits 1 priority 1
    f hits 1 priority 3
    e hits 1 priority 3
  4 of 4
space s
show
  system (of s, n) hits 1 priority 3
  4 of 4
clear
  1 gone, 1 in size
show
  3 of 4
