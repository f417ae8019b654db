// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package fleet

import (
	"fmt"
	"net/http"
	"os"
	"regexp"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"

	bind9 "kubi.zone/kubizone/api/bind9/v1alpha1"
	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/bind9/agent/rndc"
	"kubi.zone/kubizone/pkg/bind9/fleet"
	"kubi.zone/kubizone/pkg/bind9/fleet/render"
	"kubi.zone/kubizone/pkg/dns/tsig"
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
	hidden := w.startDelivery()
	w.runFleetWith(fleet.Config{
		Namespaces: []string{w.namespace}, Answers: answersCatalog,
		Primaries: primaryAt(hidden),
	})
	agent := &bind9.Agent{Kind: bind9.AgentBindcar, Image: &bind9.Image{Repository: "registry.example/bindcar-" + kind}}
	must.Get(w.kubizone.Bind9V1alpha1().Bind9Clusters(w.namespace).Create(w.ctx, &bind9.Bind9Cluster{
		ObjectMeta: metav1.ObjectMeta{Name: "car"}, Spec: bind9.Bind9ClusterSpec{
			Secondary: &bind9.RoleSettings{Replicas: 1}, ServerSettings: bind9.ServerSettings{Agent: agent},
		},
	}, metav1.CreateOptions{}))(w.t)
	must.Get(w.kubizone.KubizoneV1alpha1().DNSClasses().Create(w.ctx, &v1alpha1.DNSClass{
		ObjectMeta: metav1.ObjectMeta{Name: w.namespace}, Spec: v1alpha1.DNSClassSpec{
			Namespaces: &v1alpha1.NamespaceSelection{Names: []string{w.namespace}},
			Bind9: &v1alpha1.Bind9Provider{
				ClusterRef: &v1alpha1.Bind9ClusterReference{Namespace: w.namespace, Name: "car"}, Mode: v1alpha1.Bind9ModeTransfer, Primaries: []string{hidden.String()},
			},
		},
	}, metav1.CreateOptions{}))(w.t)
	must.Get(w.kubizone.KubizoneV1alpha1().Zones(w.namespace).Create(w.ctx, &v1alpha1.Zone{ObjectMeta: metav1.ObjectMeta{Name: "main"}, Spec: v1alpha1.ZoneSpec{
		DomainName: "car.example.", DNSClassRefs: []v1alpha1.DNSClassReference{{Name: w.namespace}}, NameServers: []v1alpha1.NameServer{{Name: "ns", Addresses: []string{"192.0.2.53"}}},
	}}, metav1.CreateOptions{}))(w.t)
	server := w.findService("car-secondary-0")
	w.waitUntil("ns.car.example. is answered", func() error {
		if got, err := askAddress(w.ctx, server, "ns.car.example."); err != nil || got != "192.0.2.53" {
			return fmt.Errorf("it is %q: %w\n%s", got, err, w.readLog("car-secondary-0", render.BINDContainer))
		}
		return nil
	})
	must.Succeed(w.t, w.kubizone.KubizoneV1alpha1().Zones(w.namespace).Delete(w.ctx, "main", metav1.DeleteOptions{}))
	must.Succeed(w.t, w.kubizone.KubizoneV1alpha1().DNSClasses().Delete(w.ctx, w.namespace, metav1.DeleteOptions{}))
}

// serveBindcar is the double as a program, with the environment of a bindcar.
func serveBindcar() error {
	is := os.Getenv
	control := rig.TSIGKey{Name: is("RNDC_KEY_NAME"), Algorithm: is("RNDC_ALGORITHM"), Secret: is("RNDC_SECRET")}
	signs, err := tsig.ParseKeys(control.Statement())
	if err != nil {
		return err
	}
	double := &bindcartest.Bindcar{Version: "0.9.0", Token: is("BIND_API_TOKEN"), Dir: is("BIND_ZONE_DIR"), Control: &rndc.Client{
		Address: is("RNDC_SERVER"), Keys: func() ([]rndc.Key, error) {
			return []rndc.Key{{Algorithm: control.Algorithm, MAC: signs[0].MAC}}, nil
		},
	}}
	return http.ListenAndServeTLS(":"+is("API_PORT"), is("BIND_TLS_CERT"), is("BIND_TLS_KEY"), double)
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
