# Chunk behind chunk: prefixes are shared, and a match is the longest stored
# beginning.
limit 10
insert a b c
insert a b d
insert b
show
  system hits 1 priority 1
    b hits 1 priority 1
    a hits 1 priority 1
      b hits 1 priority 1
        d hits 1 priority 1
        c hits 1 priority 1
  6 of 10
ask a b c
  found system a b c
ask a b e
  found system a b
ask a c
  found system a
ask d
  found system
ask
  found system
show
  system hits 6 priority 6
    a hits 4 priority 4
      b hits 3 priority 3
        c hits 2 priority 2
        d hits 1 priority 1
    b hits 1 priority 1
  6 of 10

# A slice whose parent is not stored is not kept.
insert x (y) z
insert (q) r
show
  system hits 6 priority 6
    a hits 4 priority 4
      b hits 3 priority 3
        c hits 2 priority 2
        d hits 1 priority 1
    x hits 1 priority 1
    b hits 1 priority 1
  7 of 10

# What is there already is kept as it is, and no use is counted.
insert a b
show
  system hits 6 priority 6
    a hits 4 priority 4
      b hits 3 priority 3
        c hits 2 priority 2
        d hits 1 priority 1
    x hits 1 priority 1
    b hits 1 priority 1
  7 of 10

# Forgetting a chunk takes all that stands behind it, too.
forget b
  4 gone, 4 in size
show
  system hits 6 priority 6
    a hits 4 priority 4
    x hits 1 priority 1
  3 of 10
forget nobody
  0 gone, 0 in size
reopen
show
  system hits 6 priority 6
    a hits 4 priority 4
    x hits 1 priority 1
  3 of 10
