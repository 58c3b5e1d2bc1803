package taskhttp

import (
	"cmp"
	"errors"
	"io"
	"iter"
	"math"
	"mime"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"taskkit.dev/taskkit/taskjson"
)

// parameters are the parameters of a query, each given once.
type parameters map[string]string

// query reads the parameters of a request and refuses all but the known ones: what is
// misspelt would otherwise be ignored.
func query(r *http.Request, known ...string) (parameters, error) {
	values, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return nil, ErrBadParameter.because("the query cannot be read")
	}
	p := parameters{}
	for name, all := range values {
		if !slices.Contains(known, name) {
			return nil, ErrBadParameter.because("the query has a parameter that does not exist here; there are: %s", cmp.Or(strings.Join(known, ", "), "none"))
		}
		if len(all) > 1 {
			return nil, ErrBadParameter.because("%s is given twice", name)
		}
		p[name] = all[0]
	}
	return p, nil
}

// durationForm is the form of a duration.
var durationForm = regexp.MustCompile(`^(0|([0-9]+(\.[0-9]+)?(h|m|s|ms|us|ns))+)$`)

// duration reads a parameter like 30s or 500ms. One that is too long to be counted is the longest.
func (p parameters) duration(name string) (time.Duration, error) {
	d, err := time.ParseDuration(p[name])
	if err != nil && durationForm.MatchString(p[name]) {
		d, err = math.MaxInt64, nil
	}
	if err != nil || d < 0 {
		return 0, ErrBadParameter.because("%s must be a duration like 30s or 500ms", name)
	}
	return d, nil
}

// flag reads a parameter that is true or false; it is false if it is left out.
func (p parameters) flag(name string) (bool, error) {
	switch text, ok := p[name]; {
	case !ok, text == "false":
		return false, nil
	case text == "true":
		return true, nil
	}
	return false, ErrBadParameter.because("%s must be true or false", name)
}

// wait returns how long a request waits, as it says or, without that, prefers.
func (p parameters) wait(r *http.Request) (d time.Duration, preferred bool, err error) {
	if _, ok := p["maximumPollingPeriod"]; !ok {
		d = preferredWait(r)
		return d, d > 0, nil
	}
	d, err = p.duration("maximumPollingPeriod")
	if err == nil && d > maxWait {
		err = ErrBadParameter.because("maximumPollingPeriod is at most %v", maxWait)
	}
	return d, false, err
}

// preferredWait returns the wait of RFC 7240, the first if there are several. A preference is followed as far as
// possible, and one that cannot be read is ignored.
func preferredWait(r *http.Request) time.Duration {
	for preference := range preferences(strings.Join(r.Header.Values("Prefer"), ",")) {
		name, value, _ := strings.Cut(preference, "=")
		if !strings.EqualFold(strings.TrimSpace(name), "wait") {
			continue
		}
		n, err := strconv.ParseUint(strings.Trim(strings.TrimSpace(value), `"`), 10, 31)
		if err != nil {
			return 0
		}
		return min(time.Duration(n)*time.Second, maxWait)
	}
	return 0
}

// preferences cuts a header Prefer into its preferences without their parameters. Separators within quotes are text.
func preferences(header string) iter.Seq[string] {
	return func(yield func(string) bool) {
		begin, end, quoted := 0, -1, false
		for i := 0; i <= len(header); i++ {
			switch {
			case i == len(header), header[i] == ',' && !quoted:
				if end < 0 {
					end = i
				}
				if !yield(header[begin:end]) {
					return
				}
				begin, end = i+1, -1
			case header[i] == '"':
				quoted = !quoted
			case header[i] == '\\' && quoted:
				i++
			case header[i] == ';' && !quoted && end < 0:
				end = i
			}
		}
	}
}

// preferenceApplied says that a wait was one that the client prefers.
func preferenceApplied(w http.ResponseWriter, wait time.Duration) {
	w.Header().Set("Preference-Applied", "wait="+strconv.Itoa(int(wait/time.Second)))
}

// progress returns the period of progress; 0: none is asked for.
func (p parameters) progress() (time.Duration, error) {
	text, ok := p["progressPeriod"]
	if !ok {
		return 0, nil
	}
	if text == "" {
		return defaultProgress, nil
	}
	d, err := p.duration("progressPeriod")
	if err != nil {
		return 0, err
	}
	return min(max(d, minProgress), maxProgress), nil
}

// revision returns the revision that the client has; "": it does not say.
func (p parameters) revision(tags tags) (string, error) {
	since, ok := p["since"]
	if !ok {
		return tags.revision(), nil
	}
	if !revisionForm.MatchString(since) {
		return "", ErrBadParameter.because("since must be the revision of a job")
	}
	return since, nil
}

// preconditions are the headers that make a change conditional. Those with dates do not count, since nothing here has one.
var preconditions = []string{"If-Match", "If-None-Match"}

func hasPreconditions(r *http.Request) bool {
	return slices.ContainsFunc(preconditions, func(name string) bool { return r.Header.Values(name) != nil })
}

// meets returns a problem unless the preconditions of a change are met by what there is: a job of a revision, or a document with a tag;
// "": nothing. Tags are compared as weak ones, which they are.
func meets(r *http.Request, tag string) error {
	match := func(name string) (given, found bool) {
		lines := r.Header.Values(name)
		return lines != nil, tag != "" && entityTags(lines).match(tag)
	}
	if given, found := match("If-Match"); given && !found {
		return ErrPrecondition
	}
	if _, found := match("If-None-Match"); found {
		return ErrPrecondition
	}
	return nil
}

// unconditional returns a problem if a change has a precondition that it does not read: what it changes has no ETag.
func unconditional(r *http.Request) error {
	for _, name := range preconditions {
		if r.Header.Values(name) != nil {
			return ErrBadParameter.because("%s is not for this request: what it changes has no ETag", name)
		}
	}
	return nil
}

// tags are the tags of a header If-None-Match or If-Match.
type tags []string

func entityTags(lines []string) tags {
	var t tags
	for tag := range strings.SplitSeq(strings.Join(lines, ","), ",") {
		tag = strings.TrimPrefix(strings.TrimSpace(tag), "W/")
		if tag = strings.Trim(tag, `"`); tag != "" {
			t = append(t, tag)
		}
	}
	return t
}

// revision returns the first that is one; "": none is.
func (t tags) revision() string {
	for _, tag := range t {
		if revisionForm.MatchString(tag) {
			return tag
		}
	}
	return ""
}

func (t tags) match(revision string) bool {
	return slices.Contains(t, revision) || slices.Contains(t, "*")
}

// bodyTime is how long a client may take to send a body, whatever timeouts the http.Server has.
const bodyTime = 30 * time.Second

// body reads a body of JSON that can be stored, as check says. It is nil if it may be missing and is.
func (s *Server) body(w http.ResponseWriter, r *http.Request, optional bool, check func([]byte) error) ([]byte, error) {
	// A writer that has no deadlines has its own.
	control := http.NewResponseController(w)
	_ = control.SetReadDeadline(time.Now().Add(s.bodyTime))
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, s.config.MaxBody))
	if _, tooLarge := errors.AsType[*http.MaxBytesError](err); tooLarge {
		return nil, ErrBodyTooLarge.because("at most %d bytes", s.config.MaxBody)
	}
	if err != nil {
		return nil, ErrNotJSON.because("the body ends too early")
	}
	_ = control.SetReadDeadline(time.Time{}) // nothing is left to read
	if optional && len(body) == 0 {
		return nil, nil
	}
	if !isJSON(r) {
		return nil, ErrMediaType.with("Accept", "application/json")
	}
	if err := check(body); err != nil {
		return nil, refusedJSON(ErrNotJSON, err)
	}
	return body, nil
}

func isJSON(r *http.Request) bool {
	mediaType, params, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	charset, has := params["charset"]
	encoding := r.Header.Get("Content-Encoding")
	return err == nil && mediaType == "application/json" && (!has || strings.EqualFold(charset, "utf-8")) &&
		(encoding == "" || strings.EqualFold(encoding, "identity"))
}

// refusedJSON says what is wrong with JSON. The words of the codecs name types of Go.
func refusedJSON(p *Error, err error) *Error {
	e, ok := errors.AsType[*taskjson.Error](err)
	if !ok {
		return p.because("it cannot be decoded")
	}
	out := *p
	out.Errors = []FieldProblem{{Pointer: e.Pointer, Detail: jsonProblems[e.Problem]}}
	return &out
}

// jsonProblems say to clients what is wrong with JSON.
var jsonProblems = map[taskjson.Problem]string{
	taskjson.Syntax:        "is not JSON, or is cut short",
	taskjson.TrailingData:  "something follows the value",
	taskjson.UnknownName:   "there is no field of this name",
	taskjson.DuplicateName: "the name is in the object twice",
	taskjson.CollidingName: "the name differs from that of a field only in case",
	taskjson.WrongType:     "is of another type than the field",
	taskjson.OutOfRange:    "does not fit the field",
	taskjson.BadUTF8:       "is not UTF-8",
	taskjson.LoneSurrogate: "has half a surrogate pair",
	taskjson.NUL:           "has the character NUL",
	taskjson.TooDeep:       "has too many levels",
	taskjson.TooLarge:      "is too large",
	taskjson.InvalidValue:  "is not a value of the field",
}
