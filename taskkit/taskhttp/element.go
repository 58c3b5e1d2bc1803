package taskhttp

import (
	_ "embed"
	"net/http"
)

// elementScript is the custom element taskkit-job, made of clients/typescript/src/element.ts.
//
//go:embed element.js
var elementScript []byte

// elementTag identifies this version of it.
var elementTag = digest(string(elementScript))

// element sends the script of the custom element to anybody. It has nothing of any job, so that caches
// may keep it as long as they ask whether it has changed.
func (s *Server) element(w http.ResponseWriter, r *http.Request) {
	if _, err := query(r); err != nil {
		s.refuse(w, r, err)
		return
	}
	w.Header().Set("Cache-Control", "no-cache") // and not no-store, as all else
	sendTagged(w, r, "text/javascript; charset=utf-8", elementTag, elementScript)
}
