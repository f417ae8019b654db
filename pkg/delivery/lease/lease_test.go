// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package lease

import (
	"context"
	"errors"
	"testing"
	"time"

	"kubi.zone/kubizone/pkg/delivery"
	"kubi.zone/kubizone/pkg/delivery/decision"
	"kubi.zone/kubizone/pkg/dns/name"
)

type oneState struct{ delivery.State }

func (s *oneState) Load(context.Context, delivery.Key) (delivery.State, error) { return s.State, nil }
func (s *oneState) Delete(context.Context, delivery.Key) error                 { return nil }
func (s *oneState) Save(_ context.Context, _ delivery.Key, state delivery.State) (string, error) {
	if state.Version != s.Version {
		return "", ErrConflict
	}
	state.Version += "'"
	s.State = state
	return state.Version, nil
}

// A worker saves its state and finds that another process has changed the Delivery. If only metadata changed, it saves
// again. If another worker has recorded further RRsets as unconfirmed, the save fails, since a retry would lose them.
func TestLease_overwritesNothingUnconfirmed(t *testing.T) {
	lost := delivery.RRsetKey{Name: name.MustParse("a.example.org."), Type: 1}
	also := delivery.RRsetKey{Name: name.MustParse("b.example.org."), Type: 1}
	pending := &delivery.Intent{Serial: 1, From: 1, RRsets: []delivery.RRsetKey{lost}}
	loaded := delivery.State{Version: "1", Serial: 1, Holder: "one", Intent: pending}
	for what, test := range map[string]struct {
		pending []delivery.RRsetKey
		want    error
	}{
		"the labels of the object": {[]delivery.RRsetKey{lost}, nil},
		"what is owed of the zone": {[]delivery.RRsetKey{lost, also}, delivery.ErrFenced},
	} {
		store := &oneState{loaded}
		store.Version, store.Intent = "2", &delivery.Intent{Serial: 1, From: 1, RRsets: test.pending}
		l := Lease{Store: store, Grace: time.Second, Memory: &decision.Memory{Stored: loaded, State: loaded}}
		if err := l.SaveState(t.Context(), loaded); !errors.Is(err, test.want) || err == nil != (test.want == nil) {
			t.Errorf("%s changed: %v, want %v", what, err, test.want)
		}
	}
}
