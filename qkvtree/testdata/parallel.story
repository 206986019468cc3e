# Side by side: every chunk that is stored matches, in whatever company and
# order.
placement parallel
limit 10
insert a b c
insert d (e) a
ask c e d
  found system c d
ask e
  found system
show
  system hits 3 priority 3
    d hits 2 priority 2
    c hits 2 priority 2
    a hits 1 priority 1
    b hits 1 priority 1
  5 of 10

# A branch does not need the system segment to be stored.
space t
insert (system) a
ask a b
  found a
insert b
show
  system hits 1 priority 1
    a hits 2 priority 2
    b hits 1 priority 1
  8 of 10

# Forgetting takes the chunk alone, in this space alone.
forget a
  1 gone, 1 in size
show
  system hits 1 priority 1
    b hits 1 priority 1
  7 of 10
space s
show
  system hits 3 priority 3
    d hits 2 priority 2
    c hits 2 priority 2
    a hits 1 priority 1
    b hits 1 priority 1
  7 of 10
clear
  5 gone, 5 in size
show
  2 of 10
