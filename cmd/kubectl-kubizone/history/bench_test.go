// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package history_test

import (
	"os"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/clientcmd"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/client/history"
	"kubi.zone/kubizone/pkg/client/load"
	"kubi.zone/kubizone/pkg/dns/serial"
	"kubi.zone/kubizone/test/must"
	"kubi.zone/kubizone/test/standalone"
)

// The Records of the root zone go, by a revert to the serial of the empty zone, and come back. The units are the times
// of both, and of the second plan.
func BenchmarkRevert_root(b *testing.B) {
	const path, sets = "../../../test/testdata/root-2018031200.zone", 10854
	up := standalone.Start(b)
	client := must.Get(clientcmd.BuildConfigFromFlags("", up.Kubeconfig))(b)
	zones := up.KubizoneV1alpha1().Zones("root")
	zone := &v1alpha1.Zone{ObjectMeta: metav1.ObjectMeta{Name: "root"}, Spec: v1alpha1.ZoneSpec{DomainName: ".",
		Delegations: []v1alpha1.DelegationRule{{Records: []v1alpha1.RecordDelegation{{Pattern: "*"}, {Pattern: "@"},
			{Pattern: "*", Types: []string{"NS", "DS"}}, {Pattern: "@", Types: []string{"NS", "DNSKEY"}}}}}}}
	empty := must.Get(zones.Create(b.Context(), zone, metav1.CreateOptions{}))(b).Status.Serial
	imported := must.Get(must.Get(load.New(load.Config{Client: client}))(b).Import(b.Context(), path, must.Get(os.ReadFile(path))(b),
		load.Target{Zone: types.NamespacedName{Namespace: "root", Name: "root"}, Namespace: "root"}))(b)
	revert := func(to int64) (plan *history.Plan, planned, all time.Duration) {
		reader, began := &history.Reader{Client: up.KubizoneV1alpha1()}, time.Now()
		zone := must.Get(zones.Get(b.Context(), "root", metav1.GetOptions{}))(b)
		plan = must.Get(reader.MakePlan(b.Context(), history.Subject{Zone: zone, Namespace: "root"},
			history.Moment{Serial: serial.Serial(to)}, history.Options{IncludeManaged: true}))(b)
		planned = time.Since(began)
		if err := reader.Run(b.Context(), plan); err != nil || plan.Written < sets-1 {
			b.Fatalf("%d of %d written: %v", plan.Written, imported.Written, err)
		}
		return plan, planned, time.Since(began)
	}
	for b.Loop() {
		good := must.Get(zones.Get(b.Context(), "root", metav1.GetOptions{}))(b).Status.Serial
		_, _, away := revert(empty)
		_, planned, back := revert(good)
		b.ReportMetric(away.Seconds(), "away-s")
		b.ReportMetric(back.Seconds(), "back-s")
		b.ReportMetric(planned.Seconds(), "plan-s")
	}
}
