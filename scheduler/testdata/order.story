# The most useful kind comes first, whatever space it is in.
due mail populate p1
due mail clean c1
due mail refresh r1
due notes reembed e1
due notes predict q1
queue
step 2
  done: notes reembed e1
  done: mail refresh r1
step
  done: notes predict q1
step
  done: mail populate p1
step
  done: mail clean c1
step
  nothing_due
  wake -

# Within a kind the spaces take turns, each in the order in which the worker
# named its jobs.
due mail answer a3 a1 a2 a4
due notes answer b1
due notes answer b2
step
  done: notes answer b1
step
  done: mail answer a3
step
  done: notes answer b2
step
  done: mail answer a1
step
  done: mail answer a2
step
  done: mail answer a4

# Who waited longest is not forgotten over a restart.
due mail answer a5 a6
due notes answer b5
step
  done: notes answer b5
crash
step
  done: mail answer a5
step
  done: mail answer a6
