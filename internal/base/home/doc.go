// Package home is the data folder: who may use it, of which version it is, and
// the key that signs what is stored in it.
//
// Purpose: Open makes or opens the folder for one process and says clearly why
// it cannot; Check says so without touching it. Path names what lies in it.
//
// Invariants: the folder is for its owner alone (0700). One process uses it at a
// time. A folder of a newer version is refused. Unclean is true when a process
// before did not come to Close, until what that left undone is made good.
//
// Goroutines: none.
//
// State on disk, in the folder:
//
//	schema    {"version": 2}
//	key       32 random bytes, readable for the owner alone
//	lock      held while the folder is in use; holds the process's number
//	unclean   is there while the folder is in use, and after a crash
//	meta      database: documents, stored answers, history
//	tensors   database: attention tensors; may be lost
//	index     the index of words; can be rebuilt
//	models    built-in models as files
//	prompts   what the owner wants to say otherwise to the model
//	address   where the daemon listens; it is there while one runs, and after a crash
//	          until the folder is opened again
//	inbox     uploads that are not taken in yet
//	restore-* what is being restored from a backup; see EndRestore
//	token     the main token, and with tokens.json and tokens.lock all others
//	percached.conf  what the owner has set; it may be there before all else
package home
