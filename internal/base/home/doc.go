// Package home manages the data folder: the lock, the version, and the key that signs stored
// slices.
//
// It also has the key of an encrypted folder.
//
// Purpose: Open creates or opens the folder for one process, or says why it cannot. Check says
// why without changing anything. Path returns the path of a part. SyncFiles are what commands
// read and write beside the process that uses the folder.
//
// Invariants: only the owner can access the folder (0700). One process uses it at a time. A
// folder of a newer version is refused. Unclean is true after a process ended without Close,
// until the caller has repaired what that left.
//
// Goroutines: none.
//
// State on disk, in the folder:
//
//	schema    {"version": 2}, or 3 if the folder is encrypted
//	encryption.json  the wrapped key of an encrypted folder (package encryption); encryption.lock
//	          excludes others while it is replaced
//	key       32 random bytes, readable for the owner only; not in an encrypted folder
//	lock      locked while the folder is in use; contains the process number
//	unclean   exists while the folder is in use, and after a crash
//	meta      database: documents, stored answers, history
//	tensors   database: attention tensors; disposable
//	index     the word index; can be rebuilt
//	models    built-in models as files
//	prompts   the owner's prompts
//	address   where the daemon listens; exists while it runs, and after a crash until
//	          the folder is opened again
//	inbox     uploads that are not processed yet
//	sync      what commands know of the folders and mail accounts that a space follows, and
//	          the passwords of the accounts (SyncFiles)
//	restore-* a restore in progress; see EndRestore
//	token     the main token; the others are in tokens.json and tokens.lock
//	percached.conf  the owner's settings; may exist before the rest
package home
