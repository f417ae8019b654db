// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/base64"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"

	"kubi.zone/kubizone/test/must"
	"kubi.zone/kubizone/test/rig"
	"kubi.zone/kubizone/test/rig/kuberig"
)

// startBeside starts a server of the same control plane on another etcd, not registered with the APIService.
func (c *cluster) startBeside(ctx context.Context, dir string, etcd *kuberig.Etcd, args ...string) (*kuberig.Server, error) {
	return kuberig.StartServer(ctx, dir, kuberig.ServerConfig{
		Program: c.kubizone, Kube: c.kube, Kubeconfig: c.kubeconfig, Etcd: etcd.Endpoint, Serving: c.serving, Args: args,
	})
}

func (c *cluster) connectDirectly(t *testing.T, server *kuberig.Server) *dynamic.DynamicClient {
	t.Helper()
	_, objects := makeClients(t, must.Get(server.Direct(c.kube.AdminKubeconfig()))(t))
	return objects
}

// etcd may require client certificates. The server presents one and verifies the members' authority. If any of the
// three files is wrong, the server exits and names the endpoint.
func TestEtcd_clientsBringCertificates(t *testing.T) {
	c := requireCluster(t)
	ctx := within(t, 2*waitTimeout)
	const namespace = "secure"
	must.Succeed(t, c.kube.Namespace(ctx, namespace))
	authority, stranger := must.Get(rig.NewAuthority("etcd"))(t), must.Get(rig.NewAuthority("somebody else"))(t)
	dir := t.TempDir()
	member := must.Get(kuberig.StartSecureEtcd(ctx, filepath.Join(dir, "etcd"), authority, 0))(t)
	t.Cleanup(member.Close)
	if !strings.HasPrefix(member.Endpoint, "https://") {
		t.Fatalf("the member listens on %s", member.Endpoint)
	}
	write := func(name string, content []byte) string {
		path := filepath.Join(dir, name)
		must.Succeed(t, os.WriteFile(path, content, 0o600))
		return path
	}
	files := func(name string, signed *rig.Authority) []string {
		pair := must.Get(signed.Client("kubizone-apiserver"))(t)
		return []string{"--etcd-certfile", write(name+".crt", pair.Cert), "--etcd-keyfile", write(name+".key", pair.Key)}
	}
	members := []string{"--etcd-cafile", write("ca.crt", authority.PEM)}
	known := files("known", authority)

	server := must.Get(c.startBeside(ctx, filepath.Join(dir, "server"), member, slices.Concat(members, known)...))(t)
	t.Cleanup(func() { server.Close() })
	objects := c.connectDirectly(t, server)
	must.Get(objects.Resource(zones).Namespace(namespace).Create(ctx, zoneObject(namespace, "zone", "secure.example.",
		everyName(namespace)), metav1.CreateOptions{}))(t)
	must.Get(objects.Resource(records).Namespace(namespace).Create(ctx, recordObject(namespace, "www", "www.secure.example."),
		metav1.CreateOptions{}))(t)
	if stored, entries, _ := c.readContents(ctx, t, server.URL(), namespace); stored["www"] != "192.0.2.1" ||
		entries["www"] != "192.0.2.1" {
		t.Errorf("records %v, entries %v", stored, entries)
	}

	for name, wrong := range map[string]struct {
		args []string
		want string // in the output, if the text is not etcd's
	}{
		"another authority":              {append([]string{"--etcd-cafile", write("stranger.crt", stranger.PEM)}, known...), "certificate signed by unknown authority"},
		"no authority":                   {known, "certificate signed by unknown authority"},
		"no client certificate":          {members, ""},
		"a client certificate of others": {slices.Concat(members, files("unknown", stranger)), ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel() // each gives up after twenty seconds
			server, err := c.startBeside(ctx, t.TempDir(), member, wrong.args...)
			if err == nil {
				server.Close()
				t.Fatal("it is ready")
			}
			if !strings.Contains(err.Error(), "kubizone: etcd ["+member.Endpoint+"]: ") || !strings.Contains(err.Error(), wrong.want) {
				t.Errorf("it does not say which etcd, or not why: %v", err)
			}
		})
	}
}

// writeEncryption writes an encryption configuration for all stored resources. secretbox always detects a wrong key;
// aescbc may not.
func writeEncryption(t *testing.T, key string) (path string) {
	t.Helper()
	text := `apiVersion: apiserver.config.k8s.io/v1
kind: EncryptionConfiguration
resources:
- resources: ['*.kubi.zone']
  providers:
  - secretbox: {keys: [{name: one, secret: ` + key + `}]}
`
	path = filepath.Join(t.TempDir(), "encryption.yaml")
	must.Succeed(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

func newKey() string {
	var key [32]byte
	rand.Read(key[:])
	return base64.StdEncoding.EncodeToString(key[:])
}

func findLegible(t *testing.T, dir string, words []string) (found []string) {
	t.Helper()
	seen := map[string]bool{}
	must.Succeed(t, filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		content, err := os.ReadFile(path)
		for _, word := range words {
			if !seen[word] && bytes.Contains(content, []byte(word)) {
				seen[word], found = true, append(found, word)
			}
		}
		return err
	}))
	return found
}

// With --encryption-provider-config, etcd's files reveal no zone data and no metadata except names, which are in
// keys, as for an encrypted Secret. A server with the key reads the data after a restart; a server without the key
// exits.
func TestEtcd_filesRevealNoDataOfAnEncryptedZone(t *testing.T) {
	c := requireCluster(t)
	ctx := within(t, 2*waitTimeout)
	const namespace = "vault"
	must.Succeed(t, c.kube.Namespace(ctx, namespace))
	etcdDir, serverDir := t.TempDir(), t.TempDir()
	member := must.Get(kuberig.StartEtcd(ctx, etcdDir))(t)
	t.Cleanup(member.Close)
	key := newKey()
	file := writeEncryption(t, key)
	server := must.Get(c.startBeside(ctx, serverDir, member, "--encryption-provider-config", file))(t)
	t.Cleanup(func() { server.Close() })

	// No word is part of another, nor of a server's usual output.
	secrets := []string{"zsecretdata", "zsecretmark", "zsecrethost", "zsecretgone"}
	const object = "zpublicname"
	fill := func(objects *dynamic.DynamicClient) {
		t.Helper()
		kubizone := objects.Resource(records).Namespace(namespace)
		zone := zoneObject(namespace, "zone", "zpublicapex.example.", everyName(namespace))
		record := recordObject(namespace, object, "zpublicowner.zpublicapex.example.")
		record.SetAnnotations(map[string]string{"note": "zsecretmark"})
		record.Object["spec"].(map[string]any)["type"] = "TXT"
		record.Object["spec"].(map[string]any)["rdata"] = `"zsecretdata"`
		alias := recordObject(namespace, "alias", "alias.zpublicapex.example.")
		alias.Object["spec"].(map[string]any)["type"] = "CNAME"
		alias.Object["spec"].(map[string]any)["rdata"] = "zsecrethost.example."
		must.Get(objects.Resource(zones).Namespace(namespace).Create(ctx, zone, metav1.CreateOptions{}))(t)
		gone := recordObject(namespace, "gone", "gone.zpublicapex.example.")
		gone.Object["spec"].(map[string]any)["type"] = "TXT"
		gone.Object["spec"].(map[string]any)["rdata"] = `"zsecretgone"`
		for _, record := range []*unstructured.Unstructured{record, alias, gone} {
			must.Get(kubizone.Create(ctx, record, metav1.CreateOptions{}))(t)
		}
		must.Succeed(t, kubizone.Delete(ctx, "gone", metav1.DeleteOptions{}))
	}
	fill(c.connectDirectly(t, server))
	_, aggregated := makeClients(t, c.kube.Admin())
	fill(aggregated)

	if found := findLegible(t, etcdDir, append([]string{object}, secrets...)); len(found) != 1 || found[0] != object {
		t.Errorf("etcd's files tell %q", found)
	}
	// The same search finds every word without encryption.
	if found := findLegible(t, filepath.Join(home, "etcd"), append([]string{object}, secrets...)); len(found) != 1+len(secrets) {
		t.Errorf("etcd's files of a server without encryption tell only %q", found)
	}

	must.Succeed(t, server.Stop(ctx))
	for name, args := range map[string][]string{
		"no configuration": nil,
		"another key":      {"--encryption-provider-config", writeEncryption(t, newKey())},
	} {
		wrong, err := c.startBeside(ctx, t.TempDir(), member, args...)
		if err == nil {
			wrong.Close()
			t.Fatalf("%s: it is ready", name)
		}
		if !strings.Contains(err.Error(), "the data is encrypted") || !strings.Contains(err.Error(), "--encryption-provider-config must name a file") {
			t.Errorf("%s: %v", name, err)
		}
	}
	server = must.Get(c.startBeside(ctx, serverDir, member, "--encryption-provider-config", file))(t)
	record, err := c.connectDirectly(t, server).Resource(records).Namespace(namespace).Get(ctx, object, metav1.GetOptions{})
	if err != nil || rdataOf(record) != `"zsecretdata"` || record.GetAnnotations()["note"] != "zsecretmark" {
		t.Errorf("after a restart: %v, %v", record, err)
	}
	if stored, _, serial := c.readContents(ctx, t, server.URL(), namespace); len(stored) != 2 || serial == 0 {
		t.Errorf("after a restart: records %v, serial %d", stored, serial)
	}
}
