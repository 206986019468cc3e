# A damaged slice is dropped, under sequential placement with all behind it, and
# is stored anew.
limit 20
insert a b c
insert a d
spoil b
ask a b c
  dropped c: the slice before it is not stored
  dropped b: the stored slice is damaged: piece 0 does not match its checksum
  found system a
show
  system hits 2 priority 2
    a hits 2 priority 2
      d hits 1 priority 1
  3 of 20
insert a b c
ask a b c
  found system a b c
placement parallel
model p
insert a b
spoil a
ask a b
  dropped a: the stored slice is damaged: piece 0 does not match its checksum
  found system b
spoil system
ask a b
  dropped system: the stored slice is damaged: piece 0 does not match its checksum
  found b
show
    b hits 3 priority 3
  system (of s, m) hits 3 priority 3
    a (of s, m) hits 3 priority 3
      b (of s, m) hits 2 priority 2
        c (of s, m) hits 2 priority 2
      d (of s, m) hits 1 priority 1
  6 of 20
reopen
show
    b hits 3 priority 3
  system (of s, m) hits 3 priority 3
    a (of s, m) hits 3 priority 3
      b (of s, m) hits 2 priority 2
        c (of s, m) hits 2 priority 2
      d (of s, m) hits 1 priority 1
  6 of 20
