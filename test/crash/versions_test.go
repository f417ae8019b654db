// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package crash

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"kubi.zone/kubizone/test/must"
	"kubi.zone/kubizone/test/rig/kuberig"
)

// F28: a newer version has written the store in an unknown format, or with another form of hashes. A running server
// ends; a starting server and fsck report the format and exit. Nothing changes in the store, so the newer version, or
// this version after the change is undone, goes on with all data.
func TestF28_storeOfANewerVersion(t *testing.T) {
	w := requireWorld(t)
	ctx := within(t, 3*waitTimeout)
	e := startEtcd(ctx, t, 1, false)
	one := w.startServer(ctx, t, e.listEndpoints())
	l := w.startLoad(ctx, t, one)
	l.waitAcked(ctx, t, 20)

	etcd := connectMembers(t, e.members[0])
	const config = stored + "ledger/config"
	found := must.Get(etcd.Get(ctx, config))(t)
	if len(found.Kvs) != 1 {
		t.Fatalf("%s: %d keys", config, len(found.Kvs))
	}
	newer := func(field string) map[string]any {
		config := map[string]any{}
		must.Succeed(t, json.Unmarshal(found.Kvs[0].Value, &config))
		config[field], config["ofTheNewer"] = 99, "kept"
		return config
	}
	// A running server does not continue in the old format.
	must.Get(etcd.Put(ctx, config, string(must.Get(json.Marshal(newer("leastReader")))(t))))(t)
	select {
	case <-one.Ended():
	case <-ctx.Done():
		t.Fatalf("it goes on beside a newer version:\n%s", one.Log())
	}
	l.endLoad()
	if log := one.Log(); !strings.Contains(log, "for programs that know format 99 or later") {
		t.Errorf("it does not say why it ends:\n%s", keepLastLines(dropUsualLines(log), 10))
	}
	for field, want := range map[string]string{"leastReader": "for programs that know format 99 or later", "hashAlgorithm": "hash algorithm 99, and this kubizone knows"} {
		written := must.Get(etcd.Put(ctx, config, string(must.Get(json.Marshal(newer(field)))(t))))(t)
		short, cancel := context.WithTimeout(ctx, time.Minute)
		_, err := kuberig.StartServer(short, one.dir, one.config)
		cancel()
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "start a version that knows it") {
			t.Errorf("%s 99: the server says %v", field, err)
		}
		if message, clean, _ := w.runFsck(ctx, e); clean || !strings.Contains(message, "99") {
			t.Errorf("%s 99: fsck says:\n%s", field, message)
		}
		if now := must.Get(etcd.Get(ctx, stored))(t); now.Header.Revision != written.Header.Revision {
			t.Errorf("%s 99: the store was at revision %d and is at %d", field, written.Header.Revision, now.Header.Revision)
		}
	}
	// This version keeps unknown fields.
	known := map[string]any{}
	must.Succeed(t, json.Unmarshal(found.Kvs[0].Value, &known))
	known["ofTheNewer"] = "kept"
	must.Get(etcd.Put(ctx, config, string(must.Get(json.Marshal(known))(t))))(t)
	one.startReplica(ctx, t)
	l.startLoad(ctx)
	l.waitAcked(ctx, t, 20)
	w.checkAll(ctx, t, l, e, one)
	if now := must.Get(etcd.Get(ctx, config))(t); len(now.Kvs) != 1 || !strings.Contains(string(now.Kvs[0].Value), "ofTheNewer") {
		t.Errorf("the server wrote %s anew: %s", config, now.Kvs)
	}
}
