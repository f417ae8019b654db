// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package review

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"kubi.zone/kubizone/test/must"
)

const (
	jobToken  = "job"  // of a job: no user at GitHub
	readToken = "read" // of a fork
	userToken = "user" // of the user robot
)

type standComment struct {
	ID   int64
	Body string
	User string
	Bot  bool
}

// standIn is the API of a forge for pull request 7. It refuses what the forge refuses: tokens without rights, comments
// that are too large, and requests beyond a rate.
type standIn struct {
	*httptest.Server
	mutex    sync.Mutex
	isGitLab bool
	comments []standComment
	// limited are the answers before the next request is served.
	limited []func(http.ResponseWriter)
	writes  []string
	pages   int
}

func newStandIn(t *testing.T, isGitLab bool) *standIn {
	s := &standIn{isGitLab: isGitLab}
	s.Server = httptest.NewServer(http.HandlerFunc(s.serveRequest))
	t.Cleanup(s.Close)
	return s
}

func (s *standIn) serveRequest(w http.ResponseWriter, r *http.Request) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if len(s.limited) > 0 {
		s.limited[0](w)
		s.limited = s.limited[1:]
		return
	}
	token := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
	list, one, login := "/repos/o/r/issues/7/comments", "/repos/o/r/issues/comments/", "login"
	most := 65536
	if s.isGitLab {
		token, list, one, login, most = r.Header.Get("PRIVATE-TOKEN"), "/projects/5/merge_requests/7/notes", "", "username", 1000000
		one = list + "/"
	}
	answer := func(code int, value any) {
		w.WriteHeader(code)
		_ = json.NewEncoder(w).Encode(value)
	}
	if token != jobToken && token != readToken && token != userToken {
		answer(http.StatusUnauthorized, map[string]string{"message": "Bad credentials"})
		return
	}
	if r.Method != http.MethodGet && token == readToken {
		answer(http.StatusForbidden, map[string]string{"message": "Resource not accessible by integration"})
		return
	}
	var written struct{ Body string }
	if r.Method != http.MethodGet {
		_ = json.NewDecoder(r.Body).Decode(&written)
		if utf8.RuneCountInString(written.Body) > most {
			answer(http.StatusUnprocessableEntity, map[string]string{"message": "Body is too long"})
			return
		}
		s.writes = append(s.writes, r.Method+" "+written.Body)
	}
	show := func(c standComment) map[string]any {
		user := map[string]any{login: c.User, "type": map[bool]string{true: "Bot", false: "User"}[c.Bot]}
		return map[string]any{"id": c.ID, "body": c.Body, map[bool]string{true: "author", false: "user"}[s.isGitLab]: user}
	}
	change := map[bool]string{true: http.MethodPut, false: http.MethodPatch}[s.isGitLab]
	switch {
	case r.URL.Path == "/user" && token != userToken && !s.isGitLab:
		answer(http.StatusForbidden, map[string]string{"message": "Resource not accessible by integration"})
	case r.URL.Path == "/user":
		answer(http.StatusOK, map[string]string{login: "robot"})
	case r.URL.Path == list && r.Method == http.MethodGet:
		s.pages++
		size, _ := strconv.Atoi(r.URL.Query().Get("per_page"))
		page, _ := strconv.Atoi(r.URL.Query().Get("page"))
		from := min((page-1)*size, len(s.comments))
		shown := []map[string]any{}
		for _, c := range s.comments[from:min(from+size, len(s.comments))] {
			shown = append(shown, show(c))
		}
		answer(http.StatusOK, shown)
	case r.URL.Path == list && r.Method == http.MethodPost:
		c := standComment{ID: int64(len(s.comments) + 100), Body: written.Body, User: "robot", Bot: token == jobToken}
		s.comments = append(s.comments, c)
		answer(http.StatusCreated, show(c))
	case strings.HasPrefix(r.URL.Path, one) && r.Method == change:
		id, _ := strconv.ParseInt(strings.TrimPrefix(r.URL.Path, one), 10, 64)
		i := slices.IndexFunc(s.comments, func(c standComment) bool { return c.ID == id })
		s.comments[i].Body = written.Body
		answer(http.StatusOK, show(s.comments[i]))
	default:
		answer(http.StatusNotFound, map[string]string{"message": "Not Found"})
	}
}

func (s *standIn) makeEnv(t *testing.T, token string, fork bool) map[string]string {
	t.Helper()
	if s.isGitLab {
		return map[string]string{"GITLAB_CI": "true", "CI_API_V4_URL": s.URL, "CI_PROJECT_ID": "5", "CI_MERGE_REQUEST_IID": "7",
			"CI_MERGE_REQUEST_SOURCE_PROJECT_ID": map[bool]string{true: "6", false: "5"}[fork], "KUBIZONE_REVIEW_TOKEN": token}
	}
	head := map[bool]string{true: "fork/r", false: "o/r"}[fork]
	event := filepath.Join(t.TempDir(), "event.json")
	must.Succeed(t, os.WriteFile(event, fmt.Appendf(nil, `{"pull_request": {"number": 7, "head": {"repo": {"full_name": %q}}, "base": `+
		`{"repo": {"full_name": "o/r"}}}}`, head), 0o600))
	return map[string]string{"GITHUB_ACTIONS": "true", "GITHUB_API_URL": s.URL, "GITHUB_REPOSITORY": "o/r", "GITHUB_EVENT_PATH": event,
		"GITHUB_TOKEN": token, "GITHUB_STEP_SUMMARY": filepath.Join(t.TempDir(), "summary")}
}

func (s *standIn) putBody(t *testing.T, token, marker, body string) error {
	t.Helper()
	env := s.makeEnv(t, token, false)
	at := must.Get(findPullRequest(func(key string) string { return env[key] }))(t)
	c := newClient(at)
	c.wait = func(_ context.Context, by time.Duration) error {
		if by > maxWait {
			t.Errorf("it waits %s", by)
		}
		return nil
	}
	return putComment(t.Context(), c, marker, body)
}

func eachForge(t *testing.T, test func(t *testing.T, s *standIn)) {
	for _, isGitLab := range []bool{false, true} {
		t.Run(map[bool]string{true: "GitLab", false: "GitHub"}[isGitLab], func(t *testing.T) { test(t, newStandIn(t, isGitLab)) })
	}
}

const marker = "<!-- kubizone review dns -->"

// The review of a merge request is kept in one comment, which each run edits, wherever the comment is among others. A
// comment of another author that contains the same marker is left alone (W1).
func TestPutComment_changesItsOwn(t *testing.T) {
	for _, token := range []string{jobToken, userToken} {
		eachForge(t, func(t *testing.T, s *standIn) {
			forged := marker + "\nall is well"
			s.comments = append(s.comments, standComment{1, forged, "mallory", false}, standComment{2, "see\n" + marker, "robot", true},
				standComment{3, marker + "x", "robot", true})
			for i := range 3 * perPage {
				s.comments = append(s.comments, standComment{int64(10000 + i), "talk", "alice", false})
			}
			before := len(s.comments)
			for _, body := range []string{"one", "two", "two", "three"} {
				must.Succeed(t, s.putBody(t, token, marker, marker+"\n"+body))
			}
			if len(s.comments) != before+1 || s.comments[before].Body != marker+"\nthree" || len(s.writes) != 3 {
				t.Errorf("%d comments, of %d before, writes %q", len(s.comments), before, s.writes)
			}
			if s.comments[0].Body != forged || s.comments[1].Body != "see\n"+marker || s.comments[2].Body != marker+"x" {
				t.Errorf("comments of others are %+v", s.comments[:3])
			}
			must.Succeed(t, s.putBody(t, token, "<!-- kubizone review other -->", "<!-- kubizone review other -->\nx"))
			if len(s.comments) != before+2 {
				t.Error("a review of another name has no comment of its own")
			}
		})
	}
}

// W3: limits of the rate are waited for, to a bound; a write is repeated only if it was not carried out.
func TestPutComment_waitsForTheForge(t *testing.T) {
	limit := func(code int, header, value string) func(http.ResponseWriter) {
		return func(w http.ResponseWriter) {
			w.Header().Set(header, value)
			if header == "X-RateLimit-Reset" {
				w.Header().Set("X-RateLimit-Remaining", "0")
			}
			w.WriteHeader(code)
		}
	}
	soon := strconv.FormatInt(time.Now().Add(5*time.Second).Unix(), 10)
	eachForge(t, func(t *testing.T, s *standIn) {
		for _, answers := range [][]func(http.ResponseWriter){
			{limit(429, "Retry-After", "3"), limit(403, "Retry-After", "1")},
			{limit(403, "X-RateLimit-Reset", soon)},
			{limit(429, "X-Other", "")}, {limit(502, "X-Other", "")},
		} {
			s.comments, s.limited = nil, answers
			must.Succeed(t, s.putBody(t, userToken, marker, marker))
			if len(s.comments) != 1 {
				t.Errorf("%d comments", len(s.comments))
			}
		}
		for _, answers := range [][]func(http.ResponseWriter){
			{limit(429, "Retry-After", "3600")},
			slices.Repeat([]func(http.ResponseWriter){limit(429, "Retry-After", "1")}, maxAttempts),
		} {
			s.comments, s.limited = nil, answers
			if err := s.putBody(t, userToken, marker, marker); err == nil || !strings.Contains(err.Error(), "run the job again in") ||
				len(s.comments) > 0 {
				t.Errorf("%v, %d comments", err, len(s.comments))
			}
		}
	})
	for token, want := range map[string]string{readToken: "permission pull-requests: write", "wrong": "permission pull-requests: write",
		"": "permission pull-requests: write"} {
		if err := newStandIn(t, false).putBody(t, token, marker, marker); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("token %q: %v", token, err)
		}
	}
	must.Say(t, newStandIn(t, true).putBody(t, jobToken+"x", marker, marker), "KUBIZONE_REVIEW_TOKEN")
}

// W3: a redirect gets no token.
func TestClient_followsNoRedirect(t *testing.T) {
	var seen []string
	other := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		seen = append(seen, r.Header.Get("PRIVATE-TOKEN"))
	}))
	defer other.Close()
	s := newStandIn(t, true)
	s.limited = []func(http.ResponseWriter){func(w http.ResponseWriter) {
		w.Header().Set("Location", other.URL)
		w.WriteHeader(http.StatusFound)
	}}
	if err := s.putBody(t, userToken, marker, marker); err == nil || len(seen) > 0 {
		t.Errorf("%v, and the other server saw %q", err, seen)
	}
}

func TestFindPullRequest(t *testing.T) {
	event := func(text string) map[string]string {
		path := filepath.Join(t.TempDir(), "event.json")
		must.Succeed(t, os.WriteFile(path, []byte(text), 0o600))
		return map[string]string{"GITHUB_ACTIONS": "true", "GITHUB_API_URL": "https://api.example", "GITHUB_REPOSITORY": "o/r",
			"GITHUB_EVENT_PATH": path}
	}
	with := func(env map[string]string, key, value string) map[string]string { env[key] = value; return env }
	pull := `{"pull_request": {"number": 7, "head": {"repo": null}}}`
	for _, test := range []struct {
		env  map[string]string
		want string
	}{
		{map[string]string{}, "none"}, {event(`{"ref": "refs/heads/main"}`), "none"},
		{map[string]string{"GITLAB_CI": "true", "CI_API_V4_URL": "x"}, "none"},
		{event(pull), "7 of o/r, fork true"},
		{event("{"), "GITHUB_EVENT_PATH"},
		{with(event(pull), "GITHUB_EVENT_PATH", "/absent"), "GITHUB_EVENT_PATH"},
		{with(event(pull), "GITHUB_REPOSITORY", "o/r/../x"), "no OWNER/NAME"},
		{with(event(pull), "GITHUB_API_URL", "file:///x"), "no address of an API"},
		{map[string]string{"GITLAB_CI": "true", "CI_API_V4_URL": "https://g/api/v4", "CI_MERGE_REQUEST_IID": "7/../8"}, "for a number"},
	} {
		p, err := findPullRequest(func(key string) string { return test.env[key] })
		got := "none"
		if err != nil {
			got = err.Error()
		} else if p != nil {
			got = fmt.Sprintf("%s, fork %v", p.describe(), p.fork)
		}
		if !strings.Contains(got, test.want) {
			t.Errorf("%v: %s, want %s", test.env, got, test.want)
		}
	}
	if _, err := parseAPI("X", func(string) string { return (&url.URL{Scheme: "https", Host: "a"}).String() }); err != nil {
		t.Error(err)
	}
}
