# Homebrew's formula of percached. It builds the newest commit, for the CPU at hand:
#
#	brew tap percached/percached https://github.com/percached/percached
#	brew install --HEAD percached
#
# HomebrewFormula in the root of the repository, where brew looks, is a link to this folder.
class Percached < Formula
  desc "Answers questions over your own documents with a local language model"
  homepage "https://github.com/percached/percached"
  license all_of: ["Apache-2.0", "MIT", "CC-BY-SA-4.0"]
  head "https://github.com/percached/percached.git", branch: "main"

  depends_on "go" => :build

  def install
    # llama.cpp is compiled by go build. brew's compiler drops -O3 and -march without these
    # two lines. On ARM the compiler's own target has all that llama.cpp uses on a Mac.
    ENV.O3
    if Hardware::CPU.intel?
      ENV.runtime_cpu_detection
      ENV["CGO_CFLAGS"] = ENV["CGO_CXXFLAGS"] = "-march=native"
    end
    system "go", "build", *std_go_args, "./cmd/percached"
    man1.install "packaging/percached.1"
    generate_completions_from_executable(bin/"percached", "completion")
  end

  service do
    run [opt_bin/"percached", "serve"]
    keep_alive successful_exit: false
    log_path var/"log/percached.log"
    error_log_path var/"log/percached.log"
  end

  test do
    (testpath/"note.txt").write "The dentist appointment is on 3 May at 10:00.\n"
    system bin/"percached", "add", "note.txt", "--data", testpath/"data"
    assert_match "3 May", shell_output("#{bin}/percached ask 'When is the dentist appointment?' --data #{testpath}/data")
  end
end
