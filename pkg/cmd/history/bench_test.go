// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package history_test

import (
	"errors"
	"os"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/clientcmd"

	"kubi.zone/kubizone/pkg/dns/serial"
	"kubi.zone/kubizone/pkg/history"
	"kubi.zone/kubizone/pkg/load"
	"kubi.zone/kubizone/test/must"
	"kubi.zone/kubizone/test/standalone"
)

// The Records of the root zone are deleted in change sets, and come back. The unit plan-s is the time of the plan.
func BenchmarkRevert_root(b *testing.B) {
	const path, sets = "../../../test/testdata/root-2018031200.zone", 10854
	up := standalone.Start(b)
	loader := must.Get(load.New(load.Config{Client: must.Get(clientcmd.BuildConfigFromFlags("", up.Kubeconfig))(b)}))(b)
	zones := up.KubizoneV1alpha1().Zones("root")
	must.Get(loader.Import(b.Context(), path, must.Get(os.ReadFile(path))(b), load.Target{Zone: types.NamespacedName{Namespace: "root",
		Name: "root"}, Namespace: "root", CreateZone: true}))(b)
	for b.Loop() {
		b.StopTimer()
		good := must.Get(zones.Get(b.Context(), "root", metav1.GetOptions{}))(b).Status.Serial
		for err := error(errors.New("not deleted")); err != nil; { // a request ends after a minute
			err = up.KubizoneV1alpha1().Records("root").DeleteCollection(b.Context(), metav1.DeleteOptions{}, metav1.ListOptions{})
		}
		b.StartTimer()
		reader, began := &history.Reader{Client: up.KubizoneV1alpha1()}, time.Now()
		zone := must.Get(zones.Get(b.Context(), "root", metav1.GetOptions{}))(b)
		plan := must.Get(reader.MakePlan(b.Context(), history.Subject{Zone: zone, Namespace: "root"},
			history.Moment{Serial: serial.Serial(good)}, history.Options{IncludeManaged: true}))(b)
		b.ReportMetric(time.Since(began).Seconds(), "plan-s")
		if err := reader.Run(b.Context(), plan); err != nil || plan.Written != sets {
			b.Fatalf("%d written: %v", plan.Written, err)
		}
	}
}
