// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package delivery

import (
	"context"
	"errors"
	"testing"
	"time"

	"kubi.zone/kubizone/pkg/dns/name"
)

// oneState is a Store of one delivery.
type oneState struct{ State }

func (s *oneState) Load(context.Context, Key) (State, error) { return s.State, nil }
func (s *oneState) Delete(context.Context, Key) error        { return nil }
func (s *oneState) Save(_ context.Context, _ Key, state State) (string, error) {
	if state.Version != s.Version {
		return "", ErrConflict
	}
	state.Version += "'"
	s.State = state
	return state.Version, nil
}

// A conflict is overcome where nothing of the delivery changed, and where another worker owes more than was loaded it
// is not: what that one found missing would be forgotten.
func TestLease_savesOverNothingThatIsOwed(t *testing.T) {
	lost, also := RRsetKey{name.MustParse("a.example.org."), 1}, RRsetKey{name.MustParse("b.example.org."), 1}
	loaded := State{Version: "1", Serial: 1, Holder: "one", Intent: &Intent{Serial: 1, From: 1, RRsets: []RRsetKey{lost}}}
	for what, test := range map[string]struct {
		owed []RRsetKey
		want error
	}{
		"the labels of the object": {[]RRsetKey{lost}, nil},
		"what is owed of the zone": {[]RRsetKey{lost, also}, ErrFenced},
	} {
		store := &oneState{loaded}
		store.Version, store.Intent = "2", &Intent{Serial: 1, From: 1, RRsets: test.owed}
		l := lease{store: store, grace: time.Second, memory: &memory{stored: loaded, state: loaded}}
		if err := l.saveState(t.Context(), loaded); !errors.Is(err, test.want) || err == nil != (test.want == nil) {
			t.Errorf("%s changed: %v, want %v", what, err, test.want)
		}
	}
}
