// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package deploy

import (
	"encoding/xml"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"kubi.zone/kubizone/test/must"
)

// M10: in a picture, a text with data-process has the program and command of that workload, a text with data-port the
// port numbers, and processes.svg has no other ports. KIND/NAME[/PORT] is an object of the form ha with controller
// and primary.
func TestPictures_areOfTheChart(t *testing.T) {
	commands, ports := map[string]string{}, map[string]string{}
	for _, object := range renderKustomization(t, writeKustomization(t, "ha", "components: [DEPLOY/controller, DEPLOY/primary]\n")) {
		name := object.GetKind() + "/" + object.GetName()
		var pod corev1.PodSpec
		switch object.GetKind() {
		case "Service":
			for _, port := range convertTo[corev1.Service](t, object).Spec.Ports {
				ports[name+"/"+port.Name] = strconv.Itoa(int(port.Port))
			}
			continue
		case "StatefulSet":
			pod = convertTo[appsv1.StatefulSet](t, object).Spec.Template.Spec
		case "Deployment":
			pod = convertTo[appsv1.Deployment](t, object).Spec.Template.Spec
		default:
			continue
		}
		commands[name] = "kubizone " + pod.Containers[0].Args[0]
		for _, port := range pod.Containers[0].Ports {
			ports[name+"/"+port.Name] = strconv.Itoa(int(port.ContainerPort))
		}
	}
	number := regexp.MustCompile(`\b(?:TCP|UDP|port) (\d+)`)
	for picture, wantPorts := range map[string][]string{
		"processes.svg": {"10250", "2380", "53", "8080"},
		"write.svg":     nil,
	} {
		text := must.Get(os.ReadFile("../../docs/images/" + picture))(t)
		var drawn struct {
			Title string `xml:"title"`
			Texts []struct {
				Process string `xml:"data-process,attr"`
				Port    string `xml:"data-port,attr"`
				Text    string `xml:",chardata"`
			} `xml:"text"`
		}
		if err := xml.Unmarshal(text, &drawn); err != nil {
			t.Fatalf("%s: %v", picture, err)
		}
		if drawn.Title == "" {
			t.Errorf("%s has no title, which readers of screens read", picture)
		}
		var processes, shown []string
		for _, one := range drawn.Texts {
			if one.Process != "" {
				processes = append(processes, one.Text)
				if commands[one.Process] != one.Text {
					t.Errorf("%s: %q is drawn for %s, whose command is %q", picture, one.Text, one.Process, commands[one.Process])
				}
			} else if strings.HasPrefix(one.Text, "kubizone ") {
				t.Errorf("%s: %q has no data-process", picture, one.Text)
			}
			for _, found := range number.FindAllStringSubmatch(one.Text, -1) {
				shown = append(shown, found[1])
				for _, of := range strings.Fields(one.Port) {
					if ports[of] != found[1] {
						t.Errorf("%s: %q is drawn for %s, which is %q", picture, one.Text, of, ports[of])
					}
				}
				if one.Port == "" {
					t.Errorf("%s: the port of %q has no data-port", picture, one.Text)
				}
			}
		}
		slices.Sort(processes)
		if want := []string{"kubizone apiserver", "kubizone controller", "kubizone primary"}; !slices.Equal(processes, want) {
			t.Errorf("%s shows %q, want %q", picture, processes, want)
		}
		if slices.Sort(shown); !slices.Equal(shown, wantPorts) {
			t.Errorf("%s shows the ports %q, want %q", picture, shown, wantPorts)
		}
	}
}
