// Package pull fetches model files: from a hub that has them by the name of a
// repository, as Hugging Face, or from any address.
//
// Purpose: Find turns what a person wrote into a Source: a name of the short
// list (Catalog), ORG/REPO/FILE of the hub, or an address. Pull fetches it into
// the folder of models or to a file that was named: it goes on where a former
// attempt ended, and gives the file its name only when size, SHA-256 and what is
// inside are right.
//
// Invariants: a file under its final name is whole, has the hash that was
// expected and was accepted by Check. What is expected is the hash that the
// caller names; else the one that was noted when the same source was fetched
// before. What the hub says of a file must agree with it. A hash that only the
// hub or nobody has said is never told of as confirmed. The hub's token goes to
// the hub's own host and to no other, and over plain http to this machine alone.
// From https no redirect leads to http. Plain http is for this machine, or for a
// file whose hash the caller names, as anybody on the way could exchange it.
// Redirects from elsewhere never lead to this machine. Passwords in addresses
// are refused, and neither queries nor redirect targets are told or noted.
//
// Goroutines: none of its own; those of the HTTP client end with Close.
//
// State on disk, in the folder of models:
//
//	NAME.gguf            a model
//	NAME.gguf.part       what has come so far; locked while a process fetches
//	NAME.gguf.part.json  of what source it is, how much of it is safe on the disk
//	known.json           the hashes that were noted; see Note
//	known.lock           held while known.json changes
//
// A file that goes elsewhere (Want.To) has its part beside it. A lock ends with
// the process that holds it. Parts may be deleted when nobody fetches. Without
// known.json the hashes are noted anew, as if nothing had been fetched before.
package pull
