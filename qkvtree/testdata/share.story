# A space with a limit of its own keeps inside it. Only its own slices make room:
# those of the other stay, though nobody asks for them.
limit 12
placement parallel
space t
insert x y
space s
share 4
room
  4
insert a b c
room
  0
insert d
  evicted b
show
  system hits 1 priority 1
    d hits 1 priority 1
    a hits 1 priority 1
    c hits 1 priority 1
  7 of 12
space t
show
  system hits 1 priority 1
    y hits 1 priority 1
    x hits 1 priority 1
  7 of 12

# They grow old among themselves: what was used much goes in the end, when nobody
# asks for it any more. Slices of the other space have not grown older by it.
space s
ask c
  found system c
ask c
  found system c
insert e
  evicted a
insert f
  evicted d
insert g
  evicted e
insert h
  evicted f
insert i
  evicted g
insert j
  evicted c
show
  system hits 3 priority 3
    j hits 1 priority 1
    i hits 1 priority 1
    h hits 1 priority 1
  7 of 12
space t
show
  system hits 1 priority 1
    y hits 1 priority 1
    x hits 1 priority 1
  7 of 12
idle insert z
show
  system hits 1 priority 1
    y hits 1 priority 1
    x hits 1 priority 1
    z hits 0 priority 0
  8 of 12

# Idle work fills what is free, and pushes out what nobody has used. What finds no
# room pushes nothing out.
space u
share 3
insert a
idle insert b
room
  0
idle insert c
  evicted b
ask a c
  found system a c
idle insert d
  1 refused
show
  system hits 2 priority 2
    a hits 2 priority 2
    c hits 1 priority 1
  11 of 12

# A lower limit evicts at once, system segment last; without one there is room again.
share 2
  evicted c
show
  system hits 2 priority 2
    a hits 2 priority 2
  10 of 12
share 0
  evicted a
  evicted system
insert a
show
  8 of 12
share all
room
  4
insert a b
show
  system hits 1 priority 1
    a hits 1 priority 1
    b hits 1 priority 1
  11 of 12

# The whole must fit, too: for that the least useful slice of all makes room.
limit 8
  evicted z (of t, m)
  evicted x (of t, m)
  evicted y (of t, m)
room
  0
insert c
  evicted h (of s, m)
space t
show
  system hits 1 priority 1
  8 of 8

# No limit of a space is kept on disk.
space s
show
  system hits 3 priority 3
    j hits 1 priority 1
    i hits 1 priority 1
  8 of 8
reopen
room
  0
insert h i
  evicted j
show
  system hits 3 priority 3
    h hits 1 priority 2
    i hits 1 priority 1
  8 of 8
