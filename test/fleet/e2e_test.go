// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package fleet

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"

	bind9 "kubi.zone/kubizone/api/bind9/v1alpha1"
	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/bind9/fleet"
	"kubi.zone/kubizone/pkg/bind9/fleet/render"
	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/transfer"
	"kubi.zone/kubizone/pkg/dns/tsig"
	"kubi.zone/kubizone/test/must"
	"kubi.zone/kubizone/test/rig"
)

func askAddress(ctx context.Context, at netip.AddrPort, name string, options ...string) (string, error) {
	out, err := rig.Dig{Server: at}.Run(ctx, append([]string{"+norecurse", "+time=2", "+tries=1", name, "A"}, options...)...)
	if err != nil {
		return "", err
	}
	for line := range strings.Lines(out) {
		if fields := strings.Fields(line); len(fields) == 5 && fields[3] == "A" && !strings.HasPrefix(line, ";") {
			return fields[4], nil
		}
	}
	_, code, _ := strings.Cut(out, "status: ")
	code, _, _ = strings.Cut(code, ",")
	return code, nil
}

// answersCatalog reports whether a primary answers `kubizone fleet`'s query for a catalog with a key.
func answersCatalog(ctx context.Context, at netip.AddrPort, catalog name.Name, key render.Key) bool {
	signed, err := tsig.NewKey(key.Name, tsig.Algorithm(string(key.Algorithm)+"."), key.Secret)
	if err != nil {
		return false
	}
	_, err = transfer.ReadSerial(ctx, transfer.Source{Server: at.String(), Zone: catalog, Wait: waitTimeout,
		Key: &transfer.Key{Name: signed.Name, Algorithm: string(signed.Algorithm), MAC: signed.MAC}})
	return err == nil
}

// TestFleet_servesZonesByItsCatalog runs a Bind9Cluster's named and agent as processes from their pod's spec. A zone
// comes by a DNSClass' catalog, changes, stays while control channel and transfer keys rotate under queries, survives
// an emptied volume and its loss at named (S11.25), and goes (S11.11).
func TestFleet_servesZonesByItsCatalog(t *testing.T) {
	const server = "prod-secondary-0"
	w := newWorld(t, "served")
	hidden := w.startDelivery()
	clock := clocktesting.NewFakeClock(time.Now())
	w.runFleetWith(fleet.Config{
		Namespaces: []string{w.namespace}, Clock: clock, Answers: answersCatalog,
		Primaries: primaryAt(hidden),
	})
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("named said:\n%s\nthe agent said:\n%s", w.readLog(server, render.BINDContainer), w.readLog(server, render.AgentContainer))
		}
	})
	must.Get(w.kubizone.Bind9V1alpha1().Bind9Clusters(w.namespace).Create(w.ctx, &bind9.Bind9Cluster{
		ObjectMeta: metav1.ObjectMeta{Name: "prod"}, Spec: bind9.Bind9ClusterSpec{
			Secondary: &bind9.RoleSettings{Replicas: 1}, ServerSettings: bind9.ServerSettings{Config: &bind9.Config{QueryLog: true}},
		},
	}, metav1.CreateOptions{}))(w.t)
	w.waitUntil("the TSIG key is there", func() error {
		_, err := w.core.CoreV1().Secrets(w.namespace).Get(w.ctx, render.TransferSecretName("prod"), metav1.GetOptions{})
		return err
	})
	at := w.findService(server)
	key := &v1alpha1.SecretReference{Namespace: w.namespace, Name: render.TransferSecretName("prod")}
	must.Get(w.kubizone.KubizoneV1alpha1().DNSClasses().Create(w.ctx, &v1alpha1.DNSClass{
		ObjectMeta: metav1.ObjectMeta{Name: "served"}, Spec: v1alpha1.DNSClassSpec{
			Namespaces: &v1alpha1.NamespaceSelection{Names: []string{w.namespace}},
			Transfer:   &v1alpha1.TransferProvider{CatalogZone: "served.catalog.example.", Secondaries: []v1alpha1.Secondary{{Address: at.String(), TSIGSecretRef: key}}},
		},
	}, metav1.CreateOptions{}))(w.t)
	zones, records := w.kubizone.KubizoneV1alpha1().Zones(w.namespace), w.kubizone.KubizoneV1alpha1().Records(w.namespace)
	must.Get(zones.Create(w.ctx, &v1alpha1.Zone{ObjectMeta: metav1.ObjectMeta{Name: "main"}, Spec: v1alpha1.ZoneSpec{
		DomainName: "served.example.", DNSClassRefs: []v1alpha1.DNSClassReference{{Name: "served"}}, NameServers: []v1alpha1.NameServer{{Name: "ns.example.net."}},
		Delegations: []v1alpha1.DelegationRule{{Namespace: w.namespace, Records: []v1alpha1.RecordDelegation{{Pattern: "*"}}}},
	}}, metav1.CreateOptions{}))(w.t)
	must.Get(records.Create(w.ctx, &v1alpha1.Record{ObjectMeta: metav1.ObjectMeta{Name: "www"}, Spec: v1alpha1.RecordSpec{
		DomainName: "www", ZoneRef: &v1alpha1.ZoneReference{Name: "main"}, Type: "A", RData: "192.0.2.1",
	}}, metav1.CreateOptions{}))(w.t)
	answered := func(want string) {
		t.Helper()
		w.waitUntil("www.served.example. is "+want, func() error {
			if got, err := askAddress(w.ctx, at, "www.served.example."); err != nil || got != want {
				return fmt.Errorf("it is %q: %w", got, err)
			}
			return nil
		})
	}
	answered("192.0.2.1")
	w.waitInstance(server, bind9.ConditionReady, "True")
	w.waitZones()
	must.Get(records.Patch(w.ctx, "www", types.MergePatchType, []byte(`{"spec":{"rdata":"192.0.2.2"}}`), metav1.PatchOptions{}))(w.t)
	answered("192.0.2.2")

	// The key rotates under queries: no answer is missing or wrong, and no process is replaced.
	processes := func() []int {
		return append(w.findProcesses(server, render.BINDContainer), w.findProcesses(server, render.AgentContainer)...)
	}
	former := processes()
	var asked, wrong atomic.Int64
	querying, stop := context.WithCancel(w.ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for querying.Err() == nil {
			// On a busy machine, a late answer is not missing.
			got, err := askAddress(querying, at, "www.served.example.", "+time=30")
			if querying.Err() != nil {
				return
			}
			if asked.Add(1); err != nil || got != "192.0.2.2" {
				wrong.Add(1)
				t.Logf("during the rotation: %q %v", got, err)
			}
		}
	}()
	secrets := w.core.CoreV1().Secrets(w.namespace)
	// The TSIG key rotates while the zone changes, without a refusal to the primary, the controller or named.
	transferKeys := func() render.TransferKeys {
		t.Helper()
		secret := must.Get(secrets.Get(w.ctx, render.TransferSecretName("prod"), metav1.GetOptions{}))(w.t)
		keys := must.Get(render.ReadTransferKeys(secret.Annotations, secret.Data))(w.t)
		return keys
	}
	transfer := transferKeys()
	must.Get(w.kubizone.Bind9V1alpha1().Bind9Clusters(w.namespace).Patch(w.ctx, "prod", types.MergePatchType, []byte(`{"spec":{"tsigKey":{"algorithm":"hmac-sha512"}}}`), metav1.PatchOptions{}))(w.t)
	var signs string
	w.waitUntil("the next TSIG key signs", func() error {
		clock.Step(10 * time.Second) // the primary and every pod have accepted the key
		now := transferKeys()
		signs = now.Name
		if signs == transfer.Name || now.Former == nil || now.Former.Name != transfer.Name {
			return fmt.Errorf("%s signs", signs)
		}
		return nil
	})
	changes := 0
	w.waitUntil("primary and controller sign with it", func() error {
		changes++
		if _, err := records.Patch(w.ctx, "other", types.ApplyPatchType, fmt.Appendf(nil, `{"apiVersion":"kubi.zone/v1alpha1","kind":"Record","metadata":{"name":"other"},"spec":{"domainName":"other","zoneRef":{"name":"main"},"type":"TXT","rdata":"%d"}}`, changes), metav1.PatchOptions{FieldManager: "test"}); err != nil {
			return err
		}
		log := w.readLog(server, render.BINDContainer)
		for _, line := range []string{"received notify for zone 'served.example': TSIG '" + signs + "'", "/key " + signs + " (served.example): query: served.example IN SOA"} {
			if !strings.Contains(log, line) {
				return fmt.Errorf("BIND does not say %q", line)
			}
		}
		return nil
	})
	w.waitUntil("the former TSIG key goes", func() error {
		clock.Step(10 * time.Second)
		if now := transferKeys(); now.Former != nil || now.Name != signs {
			return errStillThere
		}
		return nil
	})
	must.Get(records.Patch(w.ctx, "www", types.MergePatchType, []byte(`{"spec":{"rdata":"192.0.2.2","ttl":77}}`), metav1.PatchOptions{}))(w.t)
	w.waitUntil("the new key stays alone", func() error {
		if strings.Contains(w.runInPod(server, "cat", render.ConfigDir+"/tsig.key"), transfer.Name) {
			return errors.New("the pod has the former key")
		}
		return nil
	})
	w.waitZones()
	for line := range strings.Lines(w.readLog(server, render.BINDContainer)) {
		if strings.Contains(line, "tsig") && !strings.Contains(line, "tsig.key") || strings.Contains(line, "refused notify") || strings.Contains(line, "NOTAUTH") || strings.Contains(line, "BADKEY") {
			t.Errorf("during the rotation: %s", line)
		}
	}
	stop()
	<-ended
	if wrong.Load() > 0 || asked.Load() < 10 {
		t.Errorf("%d of %d answers are wrong or missing", wrong.Load(), asked.Load())
	}
	if now := processes(); !slices.Equal(now, former) {
		t.Error("a process was replaced")
	}

	// The volume is lost: everything returns by the catalog.
	if files := w.runInPod(server, "ls", render.StateDir); strings.Count(files, "\n") < 3 {
		t.Errorf("BIND keeps no files of zones: %s", files)
	}
	w.emptyState(server)
	w.killContainer(server, render.BINDContainer)
	answered("192.0.2.2")

	// BIND loses the zone under an unchanged catalog: the agent restores the zone, and a requested repair completes.
	const made = "adding zone 'served.example' from catalog"
	before := strings.Count(w.readLog(server, render.BINDContainer), made)
	w.runInPod(server, "rndc", "-s", "127.0.0.1", "-p", strconv.Itoa(render.RNDCPort), "-k", render.ConfigDir+"/rndc.key",
		"delzone", "-clean", "served.example")
	w.waitUntil("BIND makes the zone again", func() error {
		if now := strings.Count(w.readLog(server, render.BINDContainer), made); now == before {
			return fmt.Errorf("it made it %d times", now)
		}
		return nil
	})
	repair := exec.CommandContext(w.ctx, w.client, "verify", w.namespace+"/main", "--repair", "--kubeconfig", w.kube.AdminKubeconfig())
	out, err := repair.CombinedOutput()
	t.Logf("%s\n%s", repair, out)
	must.Succeed(w.t, err)
	answered("192.0.2.2")

	must.Succeed(w.t, zones.Delete(w.ctx, "main", metav1.DeleteOptions{}))
	answered("REFUSED")
	must.Succeed(w.t, w.kubizone.Bind9V1alpha1().Bind9Clusters(w.namespace).Delete(w.ctx, "prod", metav1.DeleteOptions{}))
	w.waitNothing(w.namespace)
	must.Succeed(w.t, w.kubizone.KubizoneV1alpha1().DNSClasses().Delete(w.ctx, "served", metav1.DeleteOptions{}))
}
