// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package oncall

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"kubi.zone/kubizone/cmd/kubeconfig"
	"kubi.zone/kubizone/cmd/kubectl-kubizone/client"
	"kubi.zone/kubizone/test/must"
	"kubi.zone/kubizone/test/rig/alertrig"
	"kubi.zone/kubizone/test/rig/kuberig"
)

// Places that name a cause.
const (
	inConditions = "conditions"
	inStatus     = "status"
	inWhy        = "why"
	inDoctor     = "doctor"
	inAlerts     = "alerts"
)

var places = []string{inConditions, inStatus, inWhy, inDoctor, inAlerts}

// runClient runs kubectl kubizone, without its log, of which a process has one.
func (w *world) runClient(arguments ...string) (out string, err error) {
	var text bytes.Buffer
	command := client.New()
	command.SetOut(&text)
	command.SetErr(io.Discard)
	command.SilenceErrors, command.SilenceUsage = true, true
	command.SetArgs(append(arguments, "--kubeconfig", w.kube.AdminKubeconfig()))
	if err = command.ExecuteContext(w.ctx); err != nil {
		text.WriteString(kubeconfig.Explain(err).Error()) // as its Main
	}
	return text.String(), err
}

// readConditions returns those of a Zone and its Record, and kubectl get deliveries, or the error of kube-apiserver.
func (w *world) readConditions(zone string) string {
	ctx, cancel := context.WithTimeout(w.ctx, 3*time.Second)
	defer cancel()
	api := w.kubizone.KubizoneV1alpha1()
	of, noZone := api.Zones(namespaceOf(zone)).Get(ctx, zone, metav1.GetOptions{})
	record, noRecord := api.Records(team).Get(ctx, "www-"+zone, metav1.GetOptions{})
	table := &metav1.Table{}
	deliveries, noTable := api.RESTClient().Get().Resource("deliveries").Namespace(namespaceOf(zone)).
		Param("fieldSelector", "spec.zone.name="+zone).SetHeader("Accept", "application/json;as=Table;v=v1;g=meta.k8s.io").DoRaw(ctx)
	if noTable == nil {
		noTable = json.Unmarshal(deliveries, table)
	}
	if err := errors.Join(noZone, noRecord, noTable); err != nil {
		return err.Error()
	}
	var text strings.Builder
	for _, c := range slices.Concat(of.Status.Conditions, record.Status.Conditions) {
		fmt.Fprintf(&text, "%s=%s %s: %s\n", c.Type, c.Status, c.Reason, c.Message)
	}
	for _, row := range table.Rows {
		fmt.Fprintf(&text, "Delivery=%v %v\n", row.Cells[4], row.Cells[7])
	}
	return text.String()
}

// scrapePods reads /metrics as the chart's monitors do, and that of kube-apiserver.
func (w *world) scrapePods() alertrig.Series {
	all := alertrig.Series{}
	core := w.core.CoreV1()
	if text, err := core.RESTClient().Get().AbsPath("/metrics").DoRaw(w.ctx); err == nil {
		all.AddScrape("kube-apiserver", "kube-apiserver", string(text))
	}
	config := w.kube.Admin()
	config.TLSClientConfig.Insecure, config.TLSClientConfig.CAFile, config.TLSClientConfig.CAData = true, "", nil
	web := must.Get(rest.HTTPClientFor(config))(w.t)
	web.Timeout = 5 * time.Second
	pods := must.Get(core.Pods(kuberig.InstallNamespace).List(w.ctx, metav1.ListOptions{}))(w.t)
	for _, pod := range pods.Items {
		if pod.Status.Phase != corev1.PodRunning || pod.DeletionTimestamp != nil {
			continue
		}
		url := "http://" + pod.Status.PodIP + ":8080/metrics"
		if pod.Labels["app.kubernetes.io/name"] == kuberig.ServerName {
			url = "https://" + pod.Status.PodIP + ":10250/metrics"
		}
		all.Scrape(web, pod.Labels["app.kubernetes.io/name"], pod.Name, url)
	}
	return all
}

// judgeAlerts returns the alerts that fire if the metrics stay as they are for half an hour: after an hour without a
// backup KubizoneBackupLate fires.
func (w *world) judgeAlerts() (alerts []string) {
	return must.Get(alertrig.State{Now: w.scrapePods(), Lasts: 30 * time.Minute}.Judge(w.ctx))(w.t)
}
