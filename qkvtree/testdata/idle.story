# What nobody waits for fills the room that is free. It has no hits.
limit 6
insert a
ask a
  found system a
room
  4
idle insert b c
room
  2
idle insert d
show
  system hits 2 priority 2
    a hits 2 priority 2
    d hits 0 priority 0
    b hits 0 priority 0
      c hits 0 priority 0
  5 of 6
room
  1

# Without free room it takes that of what nobody has used either, the oldest
# first, leaves first. The clock stays.
idle insert e
idle insert f
  evicted c
show
  system hits 2 priority 2
    a hits 2 priority 2
    f hits 0 priority 0
    e hits 0 priority 0
    d hits 0 priority 0
    b hits 0 priority 0
  6 of 6

# What somebody has asked for is protected, and what stands before it. That idle
# work looks at something protects nothing.
ask f
  found system f
idle ask d
  found system d
idle insert g
  evicted b
show
  system hits 3 priority 3
    a hits 2 priority 2
    f hits 1 priority 1
    g hits 0 priority 0
    e hits 0 priority 0
    d hits 0 priority 0
  6 of 6

# Room that would take a slice that somebody has used is not made: then nothing
# goes, of what nobody has used either.
idle insert h*4
  1 refused
show
  system hits 3 priority 3
    a hits 2 priority 2
    f hits 1 priority 1
    g hits 0 priority 0
    e hits 0 priority 0
    d hits 0 priority 0
  6 of 6

# Nor does anything of the request itself go for the rest of it.
idle insert i j k h
  evicted d
  evicted e
  evicted g
  1 refused
show
  system hits 3 priority 3
    a hits 2 priority 2
    f hits 1 priority 1
    i hits 0 priority 0
      j hits 0 priority 0
        k hits 0 priority 0
  6 of 6
reopen
show
  system hits 3 priority 3
    a hits 2 priority 2
    f hits 1 priority 1
    i hits 0 priority 0
      j hits 0 priority 0
        k hits 0 priority 0
  6 of 6

# Somebody's own slices come in as ever, and what nobody has used goes first.
insert l
  evicted k
insert m
  evicted j
show
  system hits 3 priority 3
    a hits 2 priority 2
    m hits 1 priority 1
    l hits 1 priority 1
    f hits 1 priority 1
    i hits 0 priority 0
  6 of 6

# What somebody computed while idle work stored it is used from then on.
limit 7
idle insert n
insert n
insert n
idle insert n
show
  system hits 3 priority 3
    a hits 2 priority 2
    n hits 1 priority 1
    m hits 1 priority 1
    l hits 1 priority 1
    f hits 1 priority 1
    i hits 0 priority 0
  7 of 7

# All is used now. When one of these has had to go, the others that are worth no
# more are stale: idle work replaces them, and nothing above them.
insert o
  evicted i
idle insert p
  1 refused
insert q
  evicted f
ask q
  found system q
idle insert p
  evicted l
idle insert r
  evicted m
idle insert s t u v
  evicted n
  evicted o
  evicted p
  evicted r
show
  system hits 4 priority 5
    q hits 2 priority 3
    a hits 2 priority 2
    s hits 0 priority 1
      t hits 0 priority 1
        u hits 0 priority 1
          v hits 0 priority 1
  7 of 7

# A system segment never goes for idle work, of whichever space and model it is.
space t
limit 9
idle insert
model n
idle insert
model m
show
  system (of t, n) hits 0 priority 1
  system hits 0 priority 1
  9 of 9
idle insert w*5
  1 refused
idle insert w*4
  evicted v (of s, m)
  evicted u (of s, m)
  evicted t (of s, m)
  evicted s (of s, m)
show
  system (of t, n) hits 0 priority 1
  system hits 0 priority 1
    w hits 0 priority 1
  9 of 9
