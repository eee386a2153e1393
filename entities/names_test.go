package entities

import "testing"

func TestNames(t *testing.T) {
	for _, test := range []struct {
		text                              string
		name, topic, baseName, identifier bool
	}{
		{text: "/", name: true},
		{text: "/chatter", name: true, topic: true},
		{text: "/a/b_c/D9/_action/status", name: true, topic: true},
		{text: "chatter", baseName: true},
		{text: "_ros2cli_daemon_0", baseName: true},
		{text: "rmw_cyclonedds_cpp", baseName: true, identifier: true},
		{text: ""},
		{text: "//"},
		{text: "/a//b"},
		{text: "/a/"},
		{text: "/a b"},
		{text: "/ä"},
		{text: "rt/chatter"},
		{text: "/\x00"},
	} {
		if got := isName(test.text); got != test.name {
			t.Errorf("isName(%q) = %v", test.text, got)
		}
		if got := isTopic(test.text); got != test.topic {
			t.Errorf("isTopic(%q) = %v", test.text, got)
		}
		if got := isBaseName(test.text); got != test.baseName {
			t.Errorf("isBaseName(%q) = %v", test.text, got)
		}
		if got := isIdentifier(test.text); got != test.identifier {
			t.Errorf("isIdentifier(%q) = %v", test.text, got)
		}
	}
}

func TestFullName(t *testing.T) {
	for _, test := range []struct{ namespace, name, want string }{
		{"/", "talker", "/talker"}, {"/demo", "talker", "/demo/talker"}, {"", "talker", ""}, {"/demo", "", ""},
	} {
		if got := fullName(test.namespace, test.name); got != test.want {
			t.Errorf("fullName(%q, %q) = %q, want %q", test.namespace, test.name, got, test.want)
		}
	}
}

func TestFunctorSymbol(t *testing.T) {
	for typeName, want := range map[string]string{
		"N6rclcpp9WallTimerISt5_BindIFM6TalkerFvvEPS2_EELPv0EEE":              "std::_Bind<void (Talker::*(Talker*))()>",
		"N6rclcpp9WallTimerIZ4mainEUlvE_LPv0EEE":                              "main::{lambda()#1}",
		"N6rclcpp12GenericTimerIZN6TalkerC4ERKNS_11NodeOptionsEEUlvE_LPv0EEE": "Talker::Talker(rclcpp::NodeOptions const&)::{lambda()#1}",
		"N6rclcpp9WallTimerIPFvvELPv0EEE":                                     "void (*)()",
		"N6rclcpp9WallTimerISt8functionIFvvEELPv0EEE":                         "",
		"N6rclcpp9TimerBaseE":                                                 "",
		"N6rclcpp9WallTimerI":                                                 "",
		"":                                                                    "",
	} {
		if got := (reader{}).timerSymbol(0, typeName); got != want {
			t.Errorf("timerSymbol(%q) = %q, want %q", typeName, got, want)
		}
	}
}

func TestSymbolOf(t *testing.T) {
	for text, want := range map[string]string{"Talker::tick()": "Talker::tick()", "a\x01b": "", "\xff": "", "": "", "DISABLED__x": "", "UNKNOWN": ""} {
		if got := symbolOf(text); got != want {
			t.Errorf("symbolOf(%q) = %q, want %q", text, got, want)
		}
	}
}

func FuzzTimerSymbol(f *testing.F) {
	f.Add("N6rclcpp9WallTimerISt5_BindIFM6TalkerFvvEPS2_EELPv0EEE")
	f.Add("N6rclcpp9WallTimerIZ4mainEUlvE_LPv0EEE")
	f.Fuzz(func(t *testing.T, typeName string) {
		if len(typeName) > maxTypeName {
			t.Skip()
		}
		if symbol := (reader{}).timerSymbol(0, typeName); len(symbol) > 1<<maxSymbolBits {
			t.Errorf("%d characters", len(symbol))
		}
	})
}
