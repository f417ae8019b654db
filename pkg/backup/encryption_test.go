// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package backup

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"k8s.io/apiserver/pkg/server/options/encryptionconfig"
	"k8s.io/apiserver/pkg/storage/storagebackend"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/apiserver"
	"kubi.zone/kubizone/pkg/ledger"
	"kubi.zone/kubizone/test/must"
	"kubi.zone/kubizone/test/store"
)

const encryptionConfiguration = `
apiVersion: apiserver.config.k8s.io/v1
kind: EncryptionConfiguration
resources:
- resources: [zones.kubi.zone, records.kubi.zone]
  providers:
  - secretbox: {keys: [{name: one, secret: AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=}]}
`

// Checks and restores need the server's encryption file, and without it read or change nothing.
func TestSource_readsWhatAnEncryptingServerWrote(t *testing.T) {
	etcd := must.Get(store.StartEtcd(t.TempDir()))(t)
	client := store.Must(etcd.Client())
	t.Cleanup(func() { client.Close() })
	file := filepath.Join(t.TempDir(), "encryption.yaml")
	must.Succeed(t, os.WriteFile(file, []byte(encryptionConfiguration), 0o600))
	loaded := store.Must(encryptionconfig.LoadEncryptionConfig(t.Context(), file, false, ""))
	transformers := encryptionconfig.StaticTransformers(loaded.Transformers)
	s := store.Must(store.NewServer(t.Context(), client, apiserver.Prefix, func(c *ledger.Config) {
		c.Zones.Transformer = transformers.TransformerForResource(v1alpha1.Resource("zones"))
		c.Records.Transformer = transformers.TransformerForResource(v1alpha1.Resource("records"))
	}))
	s.T = t
	store.Must(s.CreateZone(store.Zone("platform", "stays", "example.org.", store.Allow("", "*"))))
	store.Must(s.CreateRecord(t.Context(), store.Record("team", "www", "www.example.org.", "A", "192.0.2.1")))
	store.Must(s.CreateZone(store.Zone("platform", "goes", "example.net.")))
	must.Succeed(t, s.DeleteZone("platform", "goes"))
	remembered := func() string {
		var of []string
		for _, kv := range store.Must(s.Ledger.Client().Get(t.Context(), s.Ledger.Layout().Room("serials"), clientv3.WithPrefix())).Kvs {
			if !strings.HasSuffix(string(kv.Key), "/@floor") { // the floor has no name
				of = append(of, string(kv.Value))
			}
		}
		if len(of) != 1 {
			t.Fatalf("serials are remembered for %d names", len(of))
		}
		return of[0]
	}
	before, serial := remembered(), s.Zone("platform", "stays").Status.Serial

	without := apiserver.Source{Etcd: storagebackend.TransportConfig{ServerList: []string{etcd.Endpoint}}}
	if _, err := Check(t.Context(), without); !errors.Is(err, ledger.ErrEncrypted) {
		t.Errorf("checking without the file: %v", err)
	}
	at := Clock{Now: time.Now(), Since: time.Now().Add(-time.Second)}
	if _, _, err := raiseSerials(t.Context(), without, at); !errors.Is(err, ledger.ErrEncrypted) {
		t.Errorf("raising without the file: %v", err)
	}
	with := without
	with.EncryptionProviderConfigFile = file
	if n, _, err := raiseSerials(t.Context(), with, at); n != 1 || err != nil {
		t.Fatalf("raised %d zones, %v", n, err)
	}
	if now := s.Zone("platform", "stays").Status.Serial; now < serial+1000 {
		t.Errorf("serial %d became %d", serial, now)
	}
	if now := remembered(); now == before {
		t.Errorf("still remembered: %s", now)
	}
	report, err := Check(t.Context(), with)
	if err != nil || !report.Clean() || report.Zones != 1 || report.Records != 1 {
		t.Errorf("%v, %s", err, store.Text(report))
	}
}
