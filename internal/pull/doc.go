// Package pull fetches model files from a hub such as Hugging Face, or from any
// address.
//
// Purpose: Find turns what a user wrote into a Source: a name of the short list
// (Catalog), ORG/REPO/FILE of the hub, or an address. Pull fetches it, continues
// where an earlier attempt ended, and gives the file its name when size, SHA-256
// and content are right.
//
// Invariants: a file under its final name is complete, has the expected hash and
// passed Check. The caller's hash is expected, else the hash that was noted when the
// same source was fetched before; the hub's word must agree with it. A hash from the
// hub or from nobody is never reported as confirmed. The token goes to the hub's own
// host only, and over plain http to this machine only. A redirect never leads from
// https to http, or from elsewhere to this machine. Plain http from other machines
// needs a hash from the caller. Addresses with passwords are refused; queries and
// redirect targets are neither shown nor stored.
//
// Goroutines: those of the HTTP client, until Close.
//
// State on disk, in the folder of models:
//
//	NAME.gguf            a model
//	NAME.gguf.part       what was fetched so far
//	NAME.gguf.part.json  its source, and how much of it is safe on disk
//	known.json           the noted hashes; see Note
//	known.lock           locked by the process that fetches
//
// With Want.To the part is beside that file. One process fetches at a time; its lock
// ends with it. Parts may be deleted while nobody fetches. Without known.json all
// hashes are noted anew.
package pull
