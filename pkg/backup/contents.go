// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package backup

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	clientv3 "go.etcd.io/etcd/client/v3"

	"kubi.zone/kubizone/pkg/apiserver"
	"kubi.zone/kubizone/pkg/etcd/embed"
	"kubi.zone/kubizone/pkg/ledger"
	"kubi.zone/kubizone/pkg/ledger/layout"
)

// readContents fills in what the snapshot at path says of itself. A server could be asked, but would answer for
// another moment.
func (m *Manifest) readContents(path string) error {
	keys := layout.Keys{Prefix: apiserver.Prefix}
	zones, records, delegations := map[string]bool{}, map[string]bool{}, map[string]bool{}
	live := map[string]map[string]bool{keys.Objects("zones"): zones, keys.Objects("records"): records,
		keys.Objects("delegations"): delegations}
	servers := map[string]bool{}
	for _, resource := range layout.FleetResources {
		live[keys.Objects(resource)] = servers
	}
	var config []byte
	err := embed.ReadSnapshot(path, func(change embed.Change) {
		m.Revision = change.Revision
		for prefix, keys := range live {
			switch {
			case !strings.HasPrefix(change.Key, prefix):
			case change.Deleted:
				delete(keys, change.Key)
			default:
				keys[change.Key] = true
			}
		}
		if change.Key == keys.Config() {
			config = append([]byte{}, change.Value...)
		}
	})
	if err != nil {
		return err
	}
	var format struct {
		Format      int `json:"format"`
		LeastReader int `json:"leastReader"`
	}
	if err := json.Unmarshal(config, &format); err != nil || format.Format == 0 {
		return fmt.Errorf("%s holds no data of kubizone: %s is %q; is this the right etcd?", path, keys.Config(), config)
	}
	if err := ledger.CheckFirstFormat(format.Format); err != nil {
		return err
	}
	m.Format, m.LeastReader = format.Format, format.LeastReader
	m.Zones, m.Records, m.Delegations, m.Servers = len(zones), len(records), len(delegations), len(servers)
	return nil
}

// compareContents holds the manifest against what is restored, before anything is changed there.
func (m *Manifest) compareContents(ctx context.Context, client *clientv3.Client) error {
	keys := layout.Keys{Prefix: apiserver.Prefix}
	restored := Manifest{}
	counts := map[string]*int{keys.Objects("zones"): &restored.Zones, keys.Objects("records"): &restored.Records,
		keys.Objects("delegations"): &restored.Delegations}
	for _, resource := range layout.FleetResources {
		counts[keys.Objects(resource)] = &restored.Servers
	}
	for prefix, n := range counts {
		answer, err := client.Get(ctx, prefix, clientv3.WithPrefix(), clientv3.WithCountOnly())
		if err != nil {
			return err
		}
		*n += int(answer.Count)
	}
	if restored.Zones != m.Zones || restored.Records != m.Records || restored.Delegations != m.Delegations ||
		restored.Servers != m.Servers {
		return fmt.Errorf("it held %s, and %s are restored: not this file's manifest; copy both files again, or take another backup", m,
			&restored)
	}
	return nil
}
