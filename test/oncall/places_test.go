// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package oncall

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"

	"kubi.zone/kubizone/pkg/cmd/client"
	"kubi.zone/kubizone/test/must"
	"kubi.zone/kubizone/test/rig"
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
		text.WriteString(err.Error())
	}
	return text.String(), err
}

// readConditions returns those of a Zone and its Record, or the error of kube-apiserver.
func (w *world) readConditions(zone string) string {
	ctx, cancel := context.WithTimeout(w.ctx, 10*time.Second)
	defer cancel()
	api := w.kubizone.KubizoneV1alpha1()
	of, noZone := api.Zones(namespaceOf(zone)).Get(ctx, zone, metav1.GetOptions{})
	record, noRecord := api.Records(team).Get(ctx, "www-"+zone, metav1.GetOptions{})
	if err := errors.Join(noZone, noRecord); err != nil {
		return err.Error()
	}
	var text strings.Builder
	for _, c := range slices.Concat(of.Status.Conditions, record.Status.Conditions) {
		fmt.Fprintf(&text, "%s=%s %s: %s\n", c.Type, c.Status, c.Reason, c.Message)
	}
	return text.String()
}

// series are those of the rules, by name and labels.
type series map[string]float64

var sampleLine = regexp.MustCompile(`(?m)^((?:kubizone_|aggregator_unavailable_apiservice)[a-z_]*)(\{[^}]*\})? (\S+)$`)

func (s series) addSamples(instance, text string) {
	for _, found := range sampleLine.FindAllStringSubmatch(text, -1) {
		value, err := strconv.ParseFloat(found[3], 64)
		if err != nil || strings.HasSuffix(found[1], "_bucket") {
			continue
		}
		labels := fmt.Sprintf("{instance=%q", instance)
		if found[2] != "" {
			labels += "," + found[2][1:]
		} else {
			labels += "}"
		}
		s[found[1]+labels] = value
	}
}

// scrapePods reads /metrics as the chart's monitors do, and that of kube-apiserver.
func (w *world) scrapePods() series {
	all := series{}
	core := w.core.CoreV1()
	if text, err := core.RESTClient().Get().AbsPath("/metrics").DoRaw(w.ctx); err == nil {
		all.addSamples("kube-apiserver", string(text))
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
		up := fmt.Sprintf("up{instance=%q,job=%q}", pod.Name, pod.Labels["app.kubernetes.io/name"])
		all[up] = 0
		if answer, err := web.Get(url); err == nil {
			text, err := io.ReadAll(answer.Body)
			answer.Body.Close()
			if err == nil && answer.StatusCode == http.StatusOK {
				all[up] = 1
				all.addSamples(pod.Name, string(text))
			}
		}
	}
	return all
}

// growing are the metrics that tell an age, which grows in the hour of judgeAlerts.
var growing = regexp.MustCompile(`^kubizone_(delivery_oldest_change|fleet_unready|dnssec_phase|dnssec_ds_pending)_seconds`)

var firing = regexp.MustCompile(`\{[^}]*\}`)

// judgeAlerts returns the alerts that fire if the metrics stay as they are for half an hour, as NAME OF.
func (w *world) judgeAlerts() (alerts []string) {
	const minutes = 30
	type input struct {
		Series string `json:"series"`
		Values string `json:"values"`
	}
	var all []input
	found := w.scrapePods()
	for _, name := range slices.Sorted(maps.Keys(found)) {
		value, growth := found[name], 0
		if family, _, _ := strings.Cut(name, "{"); strings.HasSuffix(family, "_timestamp_seconds") {
			value += float64(minutes*60 - time.Now().Unix())
		} else if growing.MatchString(name) && value > 0 {
			growth = 60
		}
		all = append(all, input{name, fmt.Sprintf("%s+%dx%d", strconv.FormatFloat(value, 'f', -1, 64), growth, minutes)})
	}
	text := must.Get(yaml.Marshal(map[string]any{
		"rule_files": []string{must.Get(filepath.Abs("../../charts/kubizone/rules/kubizone.yaml"))(w.t)}, "evaluation_interval": "1m",
		"tests": []any{map[string]any{"interval": "1m", "input_series": all, "promql_expr_test": []any{map[string]any{
			"expr":      `max by (alertname, class, process, name) (ALERTS{alertstate="firing"}) or vector(2)`,
			"eval_time": fmt.Sprintf("%dm", minutes), "exp_samples": []any{}}}}},
	}))(w.t)
	file := filepath.Join(w.dir, "alerts.yaml")
	must.Succeed(w.t, os.WriteFile(file, text, 0o600))
	promtool := rig.Need(rig.Find("promtool", "hack/install-peers.sh"))(w.t)
	out, _ := exec.CommandContext(w.ctx, promtool, "test", "rules", file).CombinedOutput()
	_, got, ok := strings.Cut(string(out), "got:")
	if !ok {
		w.t.Fatalf("promtool: %s", out)
	}
	label := regexp.MustCompile(`(\w+)="([^"]*)"`)
	for _, one := range firing.FindAllString(got, -1) {
		name, of := "", ""
		for _, pair := range label.FindAllStringSubmatch(one, -1) {
			if pair[1] == "alertname" {
				name = pair[2]
			} else {
				of = " " + pair[2]
			}
		}
		if name != "" {
			alerts = append(alerts, name+of)
		}
	}
	slices.Sort(alerts)
	return alerts
}
