// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"regexp"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/transport"
	"k8s.io/utils/clock"

	bind9 "kubi.zone/kubizone/api/bind9/v1alpha1"
	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/bind9/agent/client"
	"kubi.zone/kubizone/pkg/bind9/agent/protocol"
	"kubi.zone/kubizone/pkg/bind9/agent/rndc"
	"kubi.zone/kubizone/pkg/bind9/fleet"
	"kubi.zone/kubizone/pkg/bind9/fleet/render"
	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/primary/tsig"
	"kubi.zone/kubizone/test/bindcartest"
	"kubi.zone/kubizone/test/must"
	"kubi.zone/kubizone/test/rig"
)

// TestFleet_transfersBesideABindcar_S11_15: a zone created by a bindcar at a server of the fleet, without a key in
// the request, is transferred from a hidden primary that requires a key.
func TestFleet_transfersBesideABindcar_S11_15(t *testing.T) {
	t.Run("double", func(t *testing.T) { transferBesideBindcar(t, "double") })
	t.Run("real", func(t *testing.T) {
		rig.Need(rig.BindcarProgram())(t)
		transferBesideBindcar(t, "real")
	})
}

func transferBesideBindcar(t *testing.T, kind string) {
	w := newWorld(t, "bindcar-"+kind)
	if _, err := rig.Find("named", "apt-get install bind9"); err != nil {
		rig.SkipMissing(t, err)
	}
	zone := name.MustParse("car.example.")
	k := newKubelet(w, "")
	hidden := w.startDelivery()
	w.runFleetWith(fleet.Config{
		Namespaces: []string{w.namespace}, Ask: k.askPod, Answers: answersCatalog,
		Primaries: primaryAt(hidden),
	})
	must.Get(w.kubizone.Bind9V1alpha1().Bind9Clusters(w.namespace).Create(w.ctx, &bind9.Bind9Cluster{
		ObjectMeta: metav1.ObjectMeta{Name: "car"}, Spec: bind9.Bind9ClusterSpec{
			Secondary: &bind9.RoleSettings{Replicas: 1}, ServerSettings: bind9.ServerSettings{Agent: &bind9.Agent{Kind: bind9.AgentBindcar}},
		},
	}, metav1.CreateOptions{}))(w.t)
	must.Get(w.kubizone.KubizoneV1alpha1().DNSClasses().Create(w.ctx, &v1alpha1.DNSClass{
		ObjectMeta: metav1.ObjectMeta{Name: w.namespace}, Spec: v1alpha1.DNSClassSpec{
			Namespaces: &v1alpha1.NamespaceSelection{Names: []string{w.namespace}}, AllowLocalAddresses: true,
			Bind9: &v1alpha1.Bind9Provider{
				ClusterRef: &v1alpha1.Bind9ClusterReference{Namespace: w.namespace, Name: "car"}, Mode: v1alpha1.Bind9ModeTransfer, Primaries: []string{hidden.String()},
			},
		},
	}, metav1.CreateOptions{}))(w.t)
	must.Get(w.kubizone.KubizoneV1alpha1().Zones(w.namespace).Create(w.ctx, &v1alpha1.Zone{ObjectMeta: metav1.ObjectMeta{Name: "main"}, Spec: v1alpha1.ZoneSpec{
		DomainName: zone.String(), DNSClassRefs: []v1alpha1.DNSClassReference{{Name: w.namespace}}, NameServers: []v1alpha1.NameServer{{Name: "ns", Addresses: []string{"192.0.2.53"}}},
	}}, metav1.CreateOptions{}))(w.t)

	w.waitUntil("the hidden primary hands out the zone", func() error {
		secret, err := w.core.CoreV1().Secrets(w.namespace).Get(w.ctx, render.TransferSecretName("car"), metav1.GetOptions{})
		if err != nil {
			return err
		}
		keys, err := render.ReadTransferKeys(secret.Annotations, secret.Data)
		if err == nil && !answersCatalog(w.ctx, hidden, zone, keys.Key) {
			err = errors.New("not to the key of the cluster")
		}
		return err
	})

	// No DNS resolves the agent's Service for the controller, so the test calls bindcar itself. After a configuration
	// change, pod and bindcar were replaced.
	var agent *client.Client
	var beside *localPod
	w.waitUntil("ns.car.example. is answered", func() error {
		pod := k.getOnlyPod()
		if pod == nil || pod.named == nil {
			return errors.New("no named runs")
		}
		if pod != beside {
			var err error
			if agent, err = w.startBindcar(pod, kind); err != nil {
				return err
			}
			beside = pod
		}
		asked := protocol.CreateZone{ZoneType: protocol.Secondary, ZoneConfig: protocol.ZoneConfig{Primaries: []string{hidden.String() + " key car"}}}
		if err := agent.Ensure(w.ctx, zone, asked, func(context.Context) error { return nil }); err != nil {
			return err
		}
		if got, err := askAddress(w.ctx, k.dns, "ns.car.example."); err != nil || got != "192.0.2.53" {
			return fmt.Errorf("it is %q: %w\n%s", got, err, pod.named.Log())
		}
		return nil
	})
	must.Succeed(w.t, w.kubizone.KubizoneV1alpha1().Zones(w.namespace).Delete(w.ctx, "main", metav1.DeleteOptions{}))
	must.Succeed(w.t, w.kubizone.KubizoneV1alpha1().DNSClasses().Delete(w.ctx, w.namespace, metav1.DeleteOptions{}))
}

func (w *world) startBindcar(pod *localPod, kind string) (*client.Client, error) {
	secret, err := w.core.CoreV1().Secrets(w.namespace).Get(w.ctx, render.RNDCSecretName("car-secondary-0"), metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	control, err := render.ReadControlKey(secret.Data)
	if err != nil {
		return nil, err
	}
	const token = "the-token-of-the-test"
	state := filepath.Join(pod.dir, "state")
	bearer := transport.NewBearerAuthRoundTripper(token, http.DefaultTransport)
	if kind == "real" {
		real := rig.Need(rig.StartBindcar(w.ctx, rig.BindcarConfig{
			ZoneDir: state, Nameserver: pod.dns, Token: token,
			Control: rig.Control{Addr: pod.control, Key: rig.TSIGKey{Name: control.Name, Algorithm: string(control.Algorithm), Secret: base64.StdEncoding.EncodeToString(control.Secret)}},
		}))(w.t)
		w.t.Cleanup(real.Close)
		return client.New(real.URL, bearer)
	}
	signs, err := tsig.NewKey(control.Name, tsig.Algorithm(string(control.Algorithm)+"."), control.Secret)
	if err != nil {
		return nil, err
	}
	server := httptest.NewServer(&bindcartest.Bindcar{Version: "0.9.0", Token: token, Dir: state, Control: &rndc.Client{Address: pod.control.String(), Keys: func() ([]rndc.Key, error) {
		return []rndc.Key{{Algorithm: string(control.Algorithm), MAC: signs.MAC}}, nil
	}}})
	w.t.Cleanup(server.Close)
	return client.New(server.URL, bearer)
}

// TestFleet_namesThePrimariesOfABindcar_S11_15: the configuration of a secondary beside a bindcar lists the primaries
// of its classes and follows each change. A server beside Kubizone's agent needs no list.
func TestFleet_namesThePrimariesOfABindcar_S11_15(t *testing.T) {
	w := newWorld(t, "unkeyed")
	w.runKubelet(w.namespace)
	w.runFleet(clock.RealClock{}, w.namespace)
	signed := regexp.MustCompile(`(?m)^server (\S+)`)
	servers := func(of string, want ...string) {
		t.Helper()
		w.waitConfig(of, fmt.Sprintf("%s signs what it sends to %q", of, want), signed, want...)
	}
	for cluster, kind := range map[string]bind9.AgentKind{"car": bind9.AgentBindcar, "own": bind9.AgentKubizone} {
		must.Get(w.kubizone.Bind9V1alpha1().Bind9Clusters(w.namespace).Create(w.ctx, &bind9.Bind9Cluster{ObjectMeta: metav1.ObjectMeta{Name: cluster}, Spec: bind9.Bind9ClusterSpec{
			Primary: &bind9.RoleSettings{Replicas: 1}, Secondary: &bind9.RoleSettings{Replicas: 1}, ServerSettings: bind9.ServerSettings{Agent: &bind9.Agent{Kind: kind}},
		}}, metav1.CreateOptions{}))(w.t)
	}
	classes := w.kubizone.KubizoneV1alpha1().DNSClasses()
	for called, block := range map[string]v1alpha1.Bind9Provider{
		"unkeyed-transfer": {Mode: v1alpha1.Bind9ModeTransfer, Primaries: []string{"198.51.100.9", "198.51.100.9:5300", "[2001:db8::9]:53"}},
		"unkeyed-update":   {Mode: v1alpha1.Bind9ModeUpdate},
	} {
		block.InstancesFrom = []v1alpha1.Bind9InstanceSelection{{Namespaces: []string{w.namespace}}}
		must.Get(classes.Create(w.ctx, &v1alpha1.DNSClass{ObjectMeta: metav1.ObjectMeta{Name: called}, Spec: v1alpha1.DNSClassSpec{
			Namespaces: &v1alpha1.NamespaceSelection{Names: []string{w.namespace}}, Bind9: &block,
		}}, metav1.CreateOptions{}))(w.t)
	}
	// The Service's address may appear before or after the first reconcile of the secondary.
	var service *corev1.Service
	w.waitUntil("the primary has a Service", func() (err error) {
		service, err = w.core.CoreV1().Services(w.namespace).Get(w.ctx, "car-primary-0", metav1.GetOptions{})
		return err
	})
	servers("car-secondary-0", service.Spec.ClusterIP, "198.51.100.9", "2001:db8::9")
	servers("car-primary-0", "198.51.100.9", "2001:db8::9")
	servers("own-secondary-0")
	must.Succeed(w.t, classes.Delete(w.ctx, "unkeyed-transfer", metav1.DeleteOptions{}))
	servers("car-secondary-0", service.Spec.ClusterIP)
	must.Succeed(w.t, classes.Delete(w.ctx, "unkeyed-update", metav1.DeleteOptions{}))
	servers("car-secondary-0")
	for _, cluster := range []string{"car", "own"} {
		must.Succeed(w.t, w.kubizone.Bind9V1alpha1().Bind9Clusters(w.namespace).Delete(w.ctx, cluster, metav1.DeleteOptions{}))
	}
}
