// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package review

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"
)

const (
	// At most maxPages of perPage comments are read, so a comment beyond the first 2,000 is created again.
	perPage  = 20
	maxPages = 100
	// maxAnswer is in octets: perPage comments of the largest size.
	maxAnswer      = 96 << 20
	maxAttempts    = 4
	maxWait        = time.Minute
	requestTimeout = 30 * time.Second
)

type pullRequest struct {
	forge              *forge
	api                *url.URL
	token              string
	repository, number string
	// fork is true if the branch is of another repository, whose token may not write.
	fork       bool
	maxComment int
}

// forge has the differences between the APIs of GitHub and GitLab. Its paths are relative to the address of the API.
type forge struct {
	maxComment               int
	tokenHeader, tokenPrefix string
	// commentsPath returns the path of a pull request's comments.
	commentsPath func(p *pullRequest) string
	// editPath returns the path of a comment, without its ID.
	editPath     func(p *pullRequest) string
	changeMethod string // of HTTP, to edit a comment
	// rights tells the user how to give a token the right to write comments.
	rights string
}

var github = &forge{
	maxComment: 65536, tokenHeader: "Authorization", tokenPrefix: "Bearer ", changeMethod: http.MethodPatch,
	commentsPath: func(p *pullRequest) string { return "/repos/" + p.repository + "/issues/" + p.number + "/comments" },
	editPath:     func(p *pullRequest) string { return "/repos/" + p.repository + "/issues/comments" },
	rights:       "give the job the permission pull-requests: write",
}

var gitlab = &forge{
	maxComment: 1000000, tokenHeader: "PRIVATE-TOKEN", changeMethod: http.MethodPut,
	commentsPath: gitlabNotes, editPath: gitlabNotes,
	rights: "put a project access token with the role Reporter and the scope api into the variable KUBIZONE_REVIEW_TOKEN",
}

func gitlabNotes(p *pullRequest) string {
	return "/projects/" + p.repository + "/merge_requests/" + p.number + "/notes"
}

// findPullRequest returns the pull request of the job, by the variables of the forge, or nil outside of such a job.
func findPullRequest(getenv func(string) string) (p *pullRequest, err error) {
	switch {
	case getenv("GITHUB_ACTIONS") == "true":
		p, err = findAtGitHub(getenv)
	case getenv("GITLAB_CI") == "true" && getenv("CI_MERGE_REQUEST_IID") != "":
		p = &pullRequest{forge: gitlab, repository: getenv("CI_PROJECT_ID"), number: getenv("CI_MERGE_REQUEST_IID"),
			token: getenv("KUBIZONE_REVIEW_TOKEN"), fork: getenv("CI_MERGE_REQUEST_SOURCE_PROJECT_ID") != getenv("CI_PROJECT_ID")}
		p.api, err = parseAPI("CI_API_V4_URL", getenv)
	}
	if p == nil || err != nil {
		return nil, err
	}
	p.maxComment = p.forge.maxComment
	// The number is part of a path: text from a branch must not lead to another address.
	if _, err := strconv.ParseUint(p.number, 10, 64); err != nil {
		return nil, fmt.Errorf("the pull request has %q for a number: run the command in a job of the forge, which sets it", p.number)
	}
	return p, nil
}

// findAtGitHub reads the pull request from the event of the job. The result is nil if another event, such as a push,
// started the job.
func findAtGitHub(getenv func(string) string) (*pullRequest, error) {
	type branch struct {
		Repo *struct {
			FullName string `json:"full_name"`
		} `json:"repo"`
	}
	var event struct {
		PullRequest *struct {
			Number int64  `json:"number"`
			Head   branch `json:"head"`
			Base   branch `json:"base"`
		} `json:"pull_request"`
	}
	text, err := os.ReadFile(getenv("GITHUB_EVENT_PATH"))
	if err != nil {
		return nil, fmt.Errorf("GITHUB_EVENT_PATH: %w", err)
	}
	if err := json.Unmarshal(text, &event); err != nil {
		return nil, fmt.Errorf("GITHUB_EVENT_PATH: %w", err)
	}
	request := event.PullRequest
	if request == nil {
		return nil, nil
	}
	p := &pullRequest{forge: github, repository: getenv("GITHUB_REPOSITORY"), number: strconv.FormatInt(request.Number, 10),
		token: cmp.Or(getenv("KUBIZONE_REVIEW_TOKEN"), getenv("GITHUB_TOKEN"))}
	// The repository of a branch is null after the deletion of the fork.
	p.fork = request.Head.Repo == nil || request.Base.Repo == nil || request.Head.Repo.FullName != request.Base.Repo.FullName
	// The repository is part of a path, too.
	if owner, name, ok := strings.Cut(p.repository, "/"); !ok || owner == "" || name == "" || strings.ContainsAny(p.repository, "?#%\\ ") ||
		strings.Contains(name, "/") {
		return nil, fmt.Errorf("GITHUB_REPOSITORY: %q is no OWNER/NAME: keep the value that GitHub Actions sets", p.repository)
	}
	p.api, err = parseAPI("GITHUB_API_URL", getenv)
	return p, err
}

func parseAPI(variable string, getenv func(string) string) (*url.URL, error) {
	at, err := url.Parse(getenv(variable))
	if err != nil || at.Host == "" || at.Scheme != "https" && at.Scheme != "http" {
		return nil, fmt.Errorf("%s: %q is no address of an API: write a URL with https://", variable, getenv(variable))
	}
	return at, nil
}

type client struct {
	pr   *pullRequest
	http *http.Client
	wait func(context.Context, time.Duration) error
}

func newClient(p *pullRequest) *client {
	return &client{pr: p, wait: waitFor, http: &http.Client{Timeout: requestTimeout,
		// A redirect would send the token to another address (W3).
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}}
}

func waitFor(ctx context.Context, by time.Duration) error {
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(by):
		return nil
	}
}

type deniedError struct{ text string }

func (e *deniedError) Error() string { return e.text }

type comment struct {
	id     int64
	body   string
	author string
	bot    bool
}

// findAuthor returns a function that reports whether a comment is by the user of the token.
func (c *client) findAuthor(ctx context.Context) (func(comment) bool, error) {
	var user struct {
		Login    string `json:"login"`
		Username string `json:"username"`
	}
	err := c.sendRequest(ctx, http.MethodGet, "/user", nil, &user)
	var denied *deniedError
	switch name := cmp.Or(user.Login, user.Username); {
	// A GitHub job's token has no user. Then all bots' comments count, because no other begins with the marker.
	case errors.As(err, &denied) && c.pr.forge == github && c.pr.token != "":
		return func(one comment) bool { return one.bot }, nil
	case err != nil:
		return nil, err
	case name == "":
		return nil, errors.New("the answer to GET /user names no user: set KUBIZONE_REVIEW_TOKEN to a token of a user or a project")
	default:
		return func(one comment) bool { return one.author == name }, nil
	}
}

// listComments returns a page of comments, the oldest first, of either forge: GitHub has "user", GitLab "author".
func (c *client) listComments(ctx context.Context, page int) (all []comment, err error) {
	type person struct {
		Login    string `json:"login"`
		Username string `json:"username"`
		Type     string `json:"type"`
	}
	var found []struct {
		ID     int64  `json:"id"`
		Body   string `json:"body"`
		User   person `json:"user"`
		Author person `json:"author"`
	}
	query := fmt.Sprintf("?per_page=%d&page=%d", perPage, page)
	// GitLab lists the newest first, and a page would shift with each new comment.
	if c.pr.forge == gitlab {
		query += "&sort=asc&order_by=created_at"
	}
	err = c.sendRequest(ctx, http.MethodGet, c.pr.forge.commentsPath(c.pr)+query, nil, &found)
	for _, one := range found {
		all = append(all, comment{one.ID, one.Body, cmp.Or(one.User.Login, one.Author.Username), one.User.Type == "Bot"})
	}
	return all, err
}

func (c *client) addComment(ctx context.Context, body string) error {
	return c.sendRequest(ctx, http.MethodPost, c.pr.forge.commentsPath(c.pr), map[string]string{"body": body}, nil)
}

func (c *client) changeComment(ctx context.Context, id int64, body string) error {
	path := fmt.Sprintf("%s/%d", c.pr.forge.editPath(c.pr), id)
	return c.sendRequest(ctx, c.pr.forge.changeMethod, path, map[string]string{"body": body}, nil)
}

// sendRequest sends a request, and decodes the answer into into unless nil. It waits and repeats after a limit of the
// forge, at most maxAttempts times. A *deniedError means that the token lacks the right.
func (c *client) sendRequest(ctx context.Context, method, path string, body, into any) error {
	var text []byte
	if body != nil {
		var err error
		if text, err = json.Marshal(body); err != nil {
			return err
		}
	}
	for attempt := 1; ; attempt++ {
		after, err := c.sendOnce(ctx, method, path, text, into)
		// A repetition would be of no use, or could write a second comment.
		if err == nil || after < 0 {
			return err
		}
		if attempt == maxAttempts || after > maxWait {
			return fmt.Errorf("%w; run the job again in %s", err, after)
		}
		if stopped := c.wait(ctx, after); stopped != nil {
			return errors.Join(err, stopped)
		}
	}
}

// sendOnce sends a request. After an error, after is the wait before a repetition, and negative if a repetition is of
// no use or could write a comment twice.
func (c *client) sendOnce(ctx context.Context, method, path string, body []byte, into any) (after time.Duration, err error) {
	request, err := http.NewRequestWithContext(ctx, method, strings.TrimSuffix(c.pr.api.String(), "/")+path, bytes.NewReader(body))
	if err != nil {
		return -1, err
	}
	request.Header.Set("Accept", "application/json")
	if body != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	if c.pr.token != "" {
		request.Header.Set(c.pr.forge.tokenHeader, c.pr.forge.tokenPrefix+c.pr.token)
	}
	answer, err := c.http.Do(request)
	if err != nil {
		// A POST may have arrived, and a second would add another comment.
		if method == http.MethodGet {
			return time.Second, err
		}
		return -1, err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(io.LimitReader(answer.Body, maxAnswer))
	if err != nil {
		return -1, fmt.Errorf("%s %s: %w", method, request.URL.Redacted(), err)
	}
	if answer.StatusCode/100 == 2 {
		if into == nil {
			return 0, nil
		}
		if err := json.Unmarshal(text, into); err != nil {
			return -1, fmt.Errorf("%s %s: no JSON: %w", method, request.URL.Redacted(), err)
		}
		return 0, nil
	}
	said := fmt.Sprintf("%s %s: %s: %.300s", method, request.URL.Redacted(), answer.Status, text)
	switch limit, limited := readLimit(answer); {
	case limited:
		return limit, errors.New(said)
	case answer.StatusCode == http.StatusUnauthorized || answer.StatusCode == http.StatusForbidden ||
		answer.StatusCode == http.StatusNotFound:
		return -1, &deniedError{said + "; the token may not write comments of pull request " + c.pr.describe() + ": " + c.pr.forge.rights}
	case answer.StatusCode >= 500 && method == http.MethodGet:
		return time.Second, errors.New(said)
	}
	return -1, errors.New(said)
}

// readLimit reports whether the forge refuses for its rate limit, and the wait. GitHub uses 403 for missing rights too,
// so 403 counts only with a header of the limit.
func readLimit(answer *http.Response) (after time.Duration, limited bool) {
	if answer.StatusCode != http.StatusTooManyRequests && answer.StatusCode != http.StatusForbidden {
		return 0, false
	}
	if seconds, err := strconv.ParseUint(answer.Header.Get("Retry-After"), 10, 31); err == nil {
		return time.Duration(seconds) * time.Second, true
	}
	if reset, err := strconv.ParseInt(answer.Header.Get("X-RateLimit-Reset"), 10, 64); err == nil &&
		answer.Header.Get("X-RateLimit-Remaining") == "0" {
		return max(time.Until(time.Unix(reset, 0)), time.Second).Round(time.Second), true
	}
	return 10 * time.Second, answer.StatusCode == http.StatusTooManyRequests
}
