# There is room for few tensors: what is predicted later pushes out what was
# predicted before. After the sixth question the storage limit is raised, and the
# tensors of the stored entries are computed again while nobody asks, those of the
# most useful entries first.
document heron: The budget of Heron reaches 46 thousand euros.
document kite: The kite festival takes place in Leeds on Sunday.
document boiler: The boiler inspection costs 120 pounds at Smith.
limit 6000
predicts How large is the budget of Heron?; Where is the kite festival?
idle
  warm heron (mail from Ana Ruiz, Mon 6 January 2025): done, 58 tokens read, 0 written
  abstract kite (mail from Ana Ruiz, Mon 6 January 2025): done, 58 tokens read, 12 written
  abstract heron (mail from Ana Ruiz, Mon 6 January 2025): done, 57 tokens read, 11 written
  abstract boiler (mail from Ana Ruiz, Mon 6 January 2025): done, 57 tokens read, 11 written
  predict behind 0 summaries: done, 197 tokens read, 19 written
  populate Where is the kite festival?: done, 101 tokens read, 8 written
  populate How large is the budget of Heron?: done, 103 tokens read, 8 written
slices
  3 slices, 4758 bytes
ask How large is the budget of Heron?
  answer_hit in 0s
ask What is the budget of Heron?
  tensor_hit in 864ms
predicts What does the boiler inspection cost?; Which firm does the boiler inspection?
idle
  history 2: done, 130 tokens read, 19 written
  populate What does the boiler inspection cost?: done, 102 tokens read, 8 written
  populate Which firm does the boiler inspection?: done, 102 tokens read, 8 written
ask Where does the kite festival take place?
  miss in 1.434s
ask Which city has the kite festival?
  tensor_hit in 854ms
ask What does the boiler inspection cost?
  answer_hit in 0s
ask Who inspects the boiler?
  miss in 1.404s
slices
  3 slices, 4758 bytes
limit 1000000
idle
  restore What does the boiler inspection cost?: done, 29 tokens read, 0 written
  restore How large is the budget of Heron?: done, 85 tokens read, 0 written
  restore Who inspects the boiler?: nothing
  restore Which city has the kite festival?: done, 85 tokens read, 0 written
  restore Where does the kite festival take place?: nothing
  restore Which firm does the boiler inspection?: nothing
  restore What is the budget of Heron?: nothing
  restore Where is the kite festival?: nothing
  history 6: done, 157 tokens read, 5 written
  without: warm heron (mail from Ana Ruiz, Mon 6 January 2025): done, 28 tokens read, 0 written
  without: warm kite (mail from Ana Ruiz, Mon 6 January 2025): done, 29 tokens read, 0 written
slices
  10 slices, 15800 bytes
  without: 5 slices, 7918 bytes
ask How many euros has Heron?
  tensor_hit in 564ms
  without: tensor_hit in 1.134s
ask What does Smith cost?
  tensor_hit in 554ms
  without: tensor_hit in 844ms
compute
  18.7 s of idle compute
  without: 17.3 s of idle compute
