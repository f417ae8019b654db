// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/apiserver"
	"kubi.zone/kubizone/test/rig"
	"kubi.zone/kubizone/test/rig/kuberig"
	"kubi.zone/kubizone/test/store"
)

// S5.9: the first server over a store of an earlier version releases the Records that are refused now: the zone has the
// others, and an Event in the Record's namespace says which rule and what would be right.
func TestUpgrade_tellsOwnersWhatIsReleased_S5_9(t *testing.T) {
	c := need(t)
	ctx := within(t, 2*waitTimeout)
	dir := t.TempDir()
	member := must(kuberig.StartEtcd(ctx, filepath.Join(dir, "etcd")))(t)
	t.Cleanup(member.Close)
	etcd := must(clientv3.New(clientv3.Config{Endpoints: []string{member.Endpoint}, Logger: zap.NewNop()}))(t)
	defer etcd.Close()
	for _, kv := range store.Format1() {
		must(etcd.Put(ctx, apiserver.Prefix+kv.Key, string(kv.Value)))(t)
	}
	for _, namespace := range []string{"platform", "tenant"} {
		if err := c.kube.Namespace(ctx, namespace); err != nil {
			t.Fatal(err)
		}
	}
	server := must(c.beside(ctx, filepath.Join(dir, "server"), member))(t)
	t.Cleanup(func() { server.Close() })
	typed, _ := clients(t, c.kube.Admin())
	rig.Until(ctx, t, "an Event of the Record", func() error {
		list, err := typed.EventsV1().Events("tenant").List(ctx, metav1.ListOptions{})
		if err != nil {
			return err
		}
		for _, e := range list.Items {
			if e.Regarding.Kind == "Record" && e.Regarding.Name == "bad-one" {
				if e.Reason != v1alpha1.ReasonValidationFailed || e.Type != corev1.EventTypeWarning || !strings.Contains(e.Note, "S5.7") {
					t.Errorf("%+v", e)
				}
				return nil
			}
		}
		return fmt.Errorf("none of %d Events\n%s", len(list.Items), server.Log())
	})
	config := c.kube.Admin()
	config.Host = server.URL()
	for zone, bad := range map[string]string{"one": "SVCB 0 ", "bad": "TYPE66"} {
		var text string
		rig.Until(ctx, t, "zone "+zone+" without what is refused", func() error {
			request := must(http.NewRequestWithContext(ctx, http.MethodGet, server.URL()+"/apis/kubi.zone/v1alpha1/namespaces/platform/zones/"+zone+"/entries", nil))(t)
			response := must(httpClient(t, config).Do(request))(t)
			defer response.Body.Close()
			body, err := io.ReadAll(response.Body)
			var view struct {
				Entries []struct{ Fqdn, Type, Rdata string }
			}
			if err != nil || json.Unmarshal(body, &view) != nil || response.StatusCode != http.StatusOK {
				return fmt.Errorf("%s: %s, %v", response.Status, body, err)
			}
			text = ""
			for _, e := range view.Entries {
				text += e.Fqdn + " " + e.Type + " " + e.Rdata + "\n"
			}
			if strings.Contains(text, bad) {
				return errors.New(text)
			}
			return nil
		})
		for _, good := range []string{"www.", "app.", "SVCB 1 ", "CERT 1 "} {
			if !strings.Contains(text, good) {
				t.Errorf("zone %s has lost %s:\n%s", zone, good, text)
			}
		}
	}
}
