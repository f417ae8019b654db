// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package ledger_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"kubi.zone/kubizone/pkg/ledger"
	"kubi.zone/kubizone/pkg/ledger/layout"
	"kubi.zone/kubizone/test/must"
	"kubi.zone/kubizone/test/store"
)

// A server ends with ErrFormat when a newer program raises the format of the store. Unknown fields beside the format do
// not end it.
func TestFollowFormat_endsWithANewerOne(t *testing.T) {
	t.Parallel()
	st := store.New(t, store.Unchecked)
	s := st.Server()
	ended := make(chan error, 1)
	go func() { ended <- s.Ledger.FollowFormat(t.Context()) }()
	config := layout.Keys{Prefix: st.Prefix}.Config()
	found, err := st.Client.Client.Get(t.Context(), config)
	if err != nil || len(found.Kvs) != 1 {
		t.Fatalf("%v, %v", found, err)
	}
	put := func(old, is string) {
		t.Helper()
		text := strings.Replace(string(found.Kvs[0].Value), old, is, 1)
		if text == string(found.Kvs[0].Value) {
			t.Fatalf("there is no %s in %s", old, text)
		}
		must.Get(st.Client.Client.Put(t.Context(), config, text))(t)
	}
	put(`{`, `{"else":"kept",`)
	select {
	case err := <-ended:
		t.Fatalf("it ends with %v while the format is its own", err)
	case <-time.After(200 * time.Millisecond): // too short for proof; nothing below depends on it
	}
	put(`"hashAlgorithm":`, `"hashAlgorithm":9`)
	select {
	case err := <-ended:
		if !errors.Is(err, ledger.ErrFormat) {
			t.Errorf("it ends with %v", err)
		}
	case <-time.After(time.Minute):
		t.Error("it goes on beside a newer version")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.Ledger.FollowFormat(ctx); err != nil {
		t.Errorf("when it shall end it says %v", err)
	}
}
