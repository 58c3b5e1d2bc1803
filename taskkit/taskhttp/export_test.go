package taskhttp

import "time"

// Watchers returns how many requests wait for jobs.
func (s *Server) Watchers() int {
	s.waits.mu.Lock()
	defer s.waits.mu.Unlock()
	return s.waits.all
}

// CommentEvery sets the interval of the comments of event streams.
func (s *Server) CommentEvery(d time.Duration) { s.comment = d }

// BodyWithin sets how long a client may take to send a body.
func (s *Server) BodyWithin(d time.Duration) { s.bodyTime = d }

// Problems returns all problems.
func Problems() []*Error { return problemDocuments }
