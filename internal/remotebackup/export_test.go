package remotebackup

// LimitArchives makes n bytes the largest archive.
func (s *Store) LimitArchives(n int64) { s.most = n }
