# The least used leaf goes first, and a parent never before its children.
limit 5
insert a b
insert c
ask a b
  found system a b
ask a b
  found system a b
ask c
  found system c
insert d
show
  system hits 4 priority 4
    a hits 3 priority 3
      b hits 3 priority 3
    c hits 2 priority 2
    d hits 1 priority 1
  5 of 5

# There is room for one more; d has no hits but its first, and goes.
insert e
  evicted d
show
  system hits 4 priority 4
    a hits 3 priority 3
      b hits 3 priority 3
    e hits 1 priority 2
    c hits 2 priority 2
  5 of 5
# Again and again: what is new comes in, what is used stays.
insert f
  evicted c
insert g
  evicted e
ask a b
  found system a b
show
  system hits 5 priority 7
    a hits 4 priority 6
      b hits 4 priority 6
    g hits 1 priority 3
    f hits 1 priority 3
  5 of 5

# The clock has moved with each that went, so what nobody asks for any more
# falls behind in the end, leaves first.
insert h
  evicted f
ask h
  found system h
ask h
  found system h
ask h
  found system h
insert i
  evicted g
insert j
  evicted i
insert k
  evicted j
insert l
  evicted b
insert m
  evicted a
insert n
  evicted k
show
  system hits 8 priority 11
    n hits 1 priority 7
    m hits 1 priority 7
    l hits 1 priority 7
    h hits 4 priority 7
  5 of 5
