// Package llmtest holds what every engine and embedder must do: two suites that
// try it, RunEngine and RunEmbedder, and two fakes that do it without a model,
// Fake and FakeEmbedder, for the tests of other packages.
//
// Purpose: one statement of the rules of package llm, in prose here and as
// checks, so that the real engine and the fake cannot drift apart. The suite's
// own tests run it on engines that are broken on purpose: each check is shown
// to fail.
//
// RealModel finds the real models that `make models` fetches.
//
// # Tokens
//
//   - A segment's tokens depend on its own texts alone, and each text's on that
//     text alone. No texts, no tokens.
//   - The begin token, if the model wants one, is the first token of the first
//     segment, of an empty one too, and stands nowhere else.
//   - Control tokens come from Special text alone.
//   - An engine whose Info has NoTokens estimates them, by the same rules; its Usage
//     counts what the model counted.
//   - Segment.Tokens, when not nil, are taken as they are (Tokenize gives them
//     back), but each must be in the vocabulary. No begin token is added.
//
// # Prompts
//
// Wrong prompts are fault.Invalid, say what is wrong, and are refused before
// anything is computed:
//
//   - Segments stand in the order System (at most one), Turn, Chunk, Question (at most
//     one). Generate needs a Question at the end; Prefill may end in any segment.
//   - The Question of a Generate has at least one token, no Slice and no Capture.
//     Other segments may be without tokens; they yield no slice.
//   - MaxTokens is above zero for Generate, and never negative.
//   - Kinds, placements, priorities and planes are known ones.
//   - Under Parallel no two branches have the same tokens: they would count twice.
//     An engine that cannot store slices may say Unsupported to Parallel.
//   - The prompt's tokens and MaxTokens fit the context, for Prefill too. Only the
//     maker of a prompt can choose what to leave out.
//
// # Placement
//
//   - The first segment is the root, whatever its kind, restored and captured
//     like others.
//   - Sequential: paths are chained, Start counts the tokens before.
//   - Parallel: each later chunk is a branch. Its path is the root's Child, its
//     Start the root's length. Branches are put in order of their path, so that
//     their order in the prompt is nothing. The turns are one branch more: each is
//     the Child of the one before, the first of the root. The Question stands behind
//     the longest branch.
//   - Two slices of one model and path are equal, byte for byte, whatever made
//     them: either placement, Generate or Prefill, a cold run or a warm one, this
//     engine or the one before the restart.
//   - A Question behind branches has no path of its own (the chain of all chunks
//     would be that of a sequence, whose tensors differ). Whether Capture yields
//     something there is left open; nothing asks for it. The Fake yields nil, and
//     refuses a slice.
//
// # Slices
//
//   - Any set of segments may be stored, with gaps too. A warm run equals the
//     cold one, bit for bit: text, logits, and the slices that it captures.
//   - Result.Slices is as long as the prompt; nil where none was asked for or none
//     could be had. A segment with Slice and Capture is restored: nothing new is
//     made, its entry is nil.
//   - Usage counts tokens: Prompt = Reused + Computed, and Reused is the sum of the
//     restored segments. End tokens are not Generated.
//   - A wrong slice is a *percached.SliceError that names the segment and the reason,
//     before anything is computed, captured or emitted. Wrong are: model, path,
//     start, tokens, planes, pieces that are not contiguous and complete, lengths,
//     checksums. What a slice was forged to hide is not found: it changes the
//     logits, which is how the suite knows that slices are used.
//   - What is given is neither changed nor kept; what is returned is the caller's.
//   - Queries (Planes QKV) change nothing else. A slice with them is as good as one
//     without, in prompts of either planes.
//   - An engine whose Info has NoSlices captures nothing and refuses every slice.
//
// # Answers
//
//   - Pieces are whole UTF-8, not empty, and make up Text. A nil emit changes
//     nothing.
//   - The answer ends before the first stop string, even one that comes in several
//     pieces; what was held back for one that did not come is emitted.
//   - With MaxTokens reached the Finish is FinishLength, and Generated MaxTokens.
//     Thoughts are neither emitted nor in Text; where one is not ended, the Finish is
//     FinishThought.
//   - emit runs while the request holds the engine. When it returns an error, or
//     the context was cancelled meanwhile, the run ends there with that error; so
//     it does before the next token with ErrPreempted. Nothing more is emitted. All
//     that was asked to be captured is in the result: the prompt was computed.
//   - Logits are there exactly if asked for, and never with NoLogits. For Prefill they are those of Generate
//     if it ends in a Question that is computed; else it is left open.
//   - Temperature 0 is greedy; so is TopK 1, and a TopP that leaves one token. One
//     seed gives one answer.
//   - With a Grammar the answer is a text of it, or the beginning of one if MaxTokens
//     ends it. It ends as soon as nothing may follow. A wrong grammar is an invalid prompt. An
//     engine whose Info has NoGrammar says Unsupported.
//
// # The line
//
//   - One request runs. The foreground goes before the background, and first come,
//     first served within each. Each priority has a bounded line of its own;
//     behind that fault.Overloaded. Who waits stays in line, idle work too.
//   - A foreground request makes running background work end with ErrPreempted.
//   - A cancelled request leaves the line when its call returns, whatever runs.
//   - Close ends what runs and what waits with ErrClosed, waits for it, and leaves
//     no goroutine; then all calls but Info give ErrClosed. A second Close gives nil
//     or ErrClosed.
//
// Nothing is told from timing: that a request waits in line is known from the
// refusal of one more than fit (see probe.fill).
//
// # Typing
//
// An engine that is an llm.Typist completes texts: no more candidates than asked
// for, the most probable first, none with a line break. What it kept of earlier
// texts changes no candidate, is never another owner's, and is gone behind
// ForgetTyped.
//
// # Embedders
//
// Every text has a vector of length 1: the empty one, one of broken UTF-8, one
// too long (it is cut). It is the same alone, in any batch, at either priority
// and after a restart. No texts give no vectors.
//
// # Goroutines, state
//
// The fakes start no goroutine: a request runs on its caller's, and waits at a
// Gate. Nothing is kept on disk. In a synctest bubble (Wall) or with a Virtual
// clock, Costs make a fake take time without any passing; Options.Step tells of
// each thing before it is done, so that a test can order events.
package llmtest
