// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"kubi.zone/kubizone/pkg/ledger/etcd"
	"kubi.zone/kubizone/pkg/ledger/layout"
)

// The config key also says (see stored) which cluster the store belongs to, by kube-system's UID, and when a
// namespace was last reaped, in unix seconds.
const (
	configCluster = "cluster"
	configReaped  = "reaped"
)

// Namespaces lists, sorted, the namespaces that have objects which the reaper removes. It costs a
// round trip for each of them, whatever is in it.
func (l *Ledger) Namespaces(ctx context.Context) ([]string, error) {
	var out []string
	for _, resource := range []string{"zones", "records", "delegations", "bind9clusters.bind9.kubi.zone", "bind9instances.bind9.kubi.zone"} {
		prefix := l.mem.Layout.Objects(resource)
		end := clientv3.GetPrefixRangeEnd(prefix)
		for from := prefix; ; {
			r, err := l.mem.Client.Get(ctx, from, clientv3.WithRange(end), clientv3.WithLimit(1), clientv3.WithKeysOnly())
			if err != nil {
				return nil, fmt.Errorf("looking for the namespaces of %s: %w", resource, err)
			}
			if len(r.Kvs) == 0 {
				break
			}
			namespace, _, _ := strings.Cut(strings.TrimPrefix(string(r.Kvs[0].Key), prefix), "/")
			out = append(out, namespace)
			from = clientv3.GetPrefixRangeEnd(prefix + namespace + "/")
		}
	}
	slices.Sort(out)
	return slices.Compact(out), nil
}

// RememberCluster returns the cluster that the store belongs to. Where it belongs
// to none yet, it belongs to uid from now on (S8.3).
func (l *Ledger) RememberCluster(ctx context.Context, uid string) (string, error) {
	remembered := uid
	err := editConfig(ctx, l.mem.Client, l.mem.Layout, func(config map[string]json.RawMessage) (bool, error) {
		remembered = uid
		text, ok := config[configCluster]
		if !ok {
			config[configCluster] = json.RawMessage(layout.Encode(uid))
			return true, nil
		}
		return false, json.Unmarshal(text, &remembered)
	})
	if err != nil {
		return "", err
	}
	return remembered, nil
}

// AdoptCluster makes the store belong to the cluster whose kube-system has this
// uid, and returns the one it belonged to, "" for none.
func AdoptCluster(ctx context.Context, client *clientv3.Client, prefix, uid string) (before string, err error) {
	err = editConfig(ctx, client, layout.Keys{Prefix: prefix}, func(config map[string]json.RawMessage) (bool, error) {
		before = ""
		if text, ok := config[configCluster]; ok {
			if err := json.Unmarshal(text, &before); err != nil {
				return false, err
			}
		}
		config[configCluster] = json.RawMessage(layout.Encode(uid))
		return before != uid, nil
	})
	return before, err
}

// TakeReapingTurn keeps the pace of S8.3 over all replicas: it returns 0 to one of them, once in each pace, and to
// the others the time to the next turn. A turn that is not used is lost.
func (l *Ledger) TakeReapingTurn(ctx context.Context, pace time.Duration) (wait time.Duration, err error) {
	err = editConfig(ctx, l.mem.Client, l.mem.Layout, func(config map[string]json.RawMessage) (bool, error) {
		wait = 0
		now := l.mem.Now()
		if text, ok := config[configReaped]; ok {
			var seconds int64
			if err := json.Unmarshal(text, &seconds); err != nil {
				return false, err
			}
			last := time.Unix(seconds, 0)
			if last.After(now) {
				// The time of a clock that was ahead must not hold reaping back until the other clocks reach it.
				wait = pace
			} else if wait = pace - now.Sub(last); wait > 0 {
				return false, nil
			} else {
				wait = 0
			}
		}
		config[configReaped] = json.RawMessage(layout.Encode(now.Unix()))
		return true, nil
	})
	return wait, err
}

// editConfig changes the config key by compare and swap; what it does not know
// there stays. edit may be called again, and says whether to write.
func editConfig(ctx context.Context, client *clientv3.Client, keys layout.Keys, edit func(map[string]json.RawMessage) (bool, error)) error {
	key := keys.Config()
	for {
		r, err := client.Get(ctx, key)
		if err != nil {
			return fmt.Errorf("reading %s: %w", key, err)
		}
		if len(r.Kvs) == 0 {
			return fmt.Errorf("%s is not there: this is no data of kubizone (start the server once, which writes it)", key)
		}
		config, format := map[string]json.RawMessage{}, stored{}
		if err := errors.Join(json.Unmarshal(r.Kvs[0].Value, &config), json.Unmarshal(r.Kvs[0].Value, &format)); err != nil {
			return layout.Unreadable(key, err)
		}
		if err := format.mayRead(migrations); err != nil {
			return err
		}
		write, err := edit(config)
		if err != nil {
			return layout.Unreadable(key, err)
		}
		if !write {
			return nil
		}
		done, err := client.Txn(ctx).If(etcd.RevisionIs(key, r.Kvs[0].ModRevision)).Then(etcd.OpPut(key, layout.Encode(config))).Commit()
		if err != nil {
			return fmt.Errorf("writing %s: %w", key, err)
		}
		if done.Succeeded {
			return nil
		}
	}
}
