package taskhttp

// Watchers returns how many requests wait for jobs.
func (s *Server) Watchers() int {
	s.waits.mu.Lock()
	defer s.waits.mu.Unlock()
	return s.waits.all
}

// Problems returns all problems.
func Problems() []*Error { return problemDocuments }
