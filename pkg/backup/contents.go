// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package backup

import (
	"encoding/json"
	"fmt"
	"strings"

	"kubi.zone/kubizone/pkg/apiserver"
	"kubi.zone/kubizone/pkg/etcd/embed"
	"kubi.zone/kubizone/pkg/ledger"
	"kubi.zone/kubizone/pkg/ledger/layout"
)

// readContents fills in what the snapshot at path says of itself. A server could be asked, but would answer for
// another moment.
func (m *Manifest) readContents(path string) error {
	keys := layout.Keys{Prefix: apiserver.Prefix}
	zones, records := map[string]bool{}, map[string]bool{}
	live := map[string]map[string]bool{keys.Objects("zones"): zones, keys.Objects("records"): records}
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
	m.Zones, m.Records = len(zones), len(records)
	return nil
}
