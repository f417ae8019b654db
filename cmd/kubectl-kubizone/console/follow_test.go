// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package console

import (
	"bufio"
	"context"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"kubi.zone/kubizone/test/must"
)

func cutBetween(text, from, to string) string {
	_, text, _ = strings.Cut(text, from)
	text, _, _ = strings.Cut(text, to)
	return text
}

func verbOf(r *http.Request) string {
	if r.URL.Query().Get("watch") == "true" {
		return "watch"
	}
	return "list"
}

// readStream returns the data of a stream's first event with a name, "" for none in the time.
func (b *browser) readStream(path, event string, within time.Duration) string {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.t.Context(), within)
	defer cancel()
	request := must.Get(http.NewRequestWithContext(ctx, http.MethodGet, b.origin+b.door.base+"/live"+path, nil))(b.t)
	request.AddCookie(b.cookie)
	response := must.Get(b.Do(request))(b.t)
	defer response.Body.Close()
	lines := bufio.NewScanner(response.Body)
	lines.Buffer(nil, 1<<20)
	for found := false; lines.Scan(); found = lines.Text() == "event: "+event {
		if found {
			return strings.TrimPrefix(lines.Text(), "data: ")
		}
	}
	return ""
}

// A page follows its objects by a watch, for which a user may lack rights. Such a page still shows its objects, but
// does not pretend to be live, and names the missing right (C5, C6).
func TestStream_namesTheRightThatItLacksToFollow(t *testing.T) {
	for _, one := range []struct {
		what, path string
		refused    map[string]string
		want       string
	}{
		{"all may be watched", "/zones", map[string]string{}, ""},
		{"the own namespace may be watched", "/zones", map[string]string{"": "list"}, ""},
		{"list without watch", "/zones/team/zone", map[string]string{"team": "watch"},
			"you lack the right to watch zones in namespace team"},
		{"list without watch in all namespaces", "/zones", map[string]string{"": "watch"},
			"you lack the right to watch zones in all namespaces"},
		{"get alone", "/zones/team/zone", map[string]string{"team": "list"}, "you lack the right to list zones in namespace team"},
		{"no list at all", "/", map[string]string{"": "list", "team": "list"}, "you lack the right to list zones in "},
	} {
		b := startConsole(t)
		b.api.unfollowed = one.refused
		within := time.Second
		if one.want != "" {
			within = time.Minute
		}
		if got := b.readStream(one.path, "unfollowed", within); got != one.want && (one.want == "" || !strings.HasPrefix(got, one.want)) {
			t.Errorf("%s: %q", one.what, got)
		}
	}
}

// A watch begins at a version that the console reads by a list of one object. This list has no selector on an index,
// since the server would sort all objects of the index for it. A selector by an object's name stays, because a user may
// have rights to that name alone.
func TestStream_readsTheVersionCheaply(t *testing.T) {
	b := startConsole(t)
	for _, path := range []string{"/", "/records?state=not+Ready", "/zones/team/zone"} {
		b.readStream(path, "none", time.Second)
	}
	b.api.mu.Lock()
	defer b.api.mu.Unlock()
	watched, named := 0, false
	for _, sent := range b.api.requests {
		query := must.Get(url.ParseQuery(cutBetween(sent, "?", "#")))(t)
		first := query.Get("limit") == "1" && !query.Has("watch")
		if first && strings.Contains(sent, "status.ready") {
			t.Errorf("the version is read by %s", sent)
		}
		named = named || first && strings.Contains(sent, "metadata.name%3Dzone")
		if query.Has("watch") && strings.Contains(sent, "status.ready") {
			watched++
		}
	}
	if watched == 0 || !named {
		t.Errorf("%d watches of Records that are not Ready; the version of a zone by its name: %t; %q", watched, named, b.api.requests)
	}
}
