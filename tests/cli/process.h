// Runs the program as a shell would.

#ifndef QUIESCE_TESTS_CLI_PROCESS_H_
#define QUIESCE_TESTS_CLI_PROCESS_H_

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

namespace quiesce::cli {

struct Ran {
  int exit_code = -1;  // 128 + signal when a signal ended it
  std::string out;
  std::string err;
};

// A running `quiesce` with its outputs in files of a directory of its own.
class Process {
 public:
  explicit Process(const std::vector<std::string>& arguments);
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;
  ~Process();

  int id() const { return id_; }
  std::string out() const;  // so far
  std::string err() const;
  // Waits until `text` stands in what was printed; false when the process ended without it.
  bool wait_for(const std::string& text);
  void signal(int number) const;
  Ran wait();

 private:
  bool has_ended();

  std::string directory_;
  int id_ = -1;
  int status_ = 0;
  bool is_reaped_ = false;
};

inline std::string read_file(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

inline void redirect(const std::string& path, int to) {
  const int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  dup2(fd, to);
  close(fd);
}

inline Process::Process(const std::vector<std::string>& arguments) {
  std::string pattern = (std::filesystem::temp_directory_path() / "quiesce-cli-XXXXXX").string();
  directory_ = mkdtemp(pattern.data());
  std::vector<char*> argv = {const_cast<char*>(QUIESCE_PROGRAM)};
  for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  const std::string out_path = directory_ + "/out";
  const std::string err_path = directory_ + "/err";
  id_ = fork();
  if (id_ == 0) {
    redirect(out_path, STDOUT_FILENO);
    redirect(err_path, STDERR_FILENO);
    execv(QUIESCE_PROGRAM, argv.data());
    _exit(127);
  }
}

inline Process::~Process() {
  if (!is_reaped_) {
    kill(id_, SIGKILL);
    waitpid(id_, &status_, 0);
  }
  std::filesystem::remove_all(directory_);
}

inline std::string Process::out() const { return read_file(directory_ + "/out"); }
inline std::string Process::err() const { return read_file(directory_ + "/err"); }

inline bool Process::has_ended() {
  if (!is_reaped_) is_reaped_ = waitpid(id_, &status_, WNOHANG) == id_;
  return is_reaped_;
}

inline bool Process::wait_for(const std::string& text) {
  while (true) {
    const bool ended = has_ended();
    if (out().find(text) != std::string::npos || err().find(text) != std::string::npos) return true;
    if (ended) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
}

inline void Process::signal(int number) const { kill(id_, number); }

inline Ran Process::wait() {
  if (!is_reaped_) waitpid(id_, &status_, 0);
  is_reaped_ = true;
  const int code = WIFEXITED(status_) ? WEXITSTATUS(status_) : 128 + WTERMSIG(status_);
  return {code, out(), err()};
}

inline Ran run_program(const std::vector<std::string>& arguments) {
  return Process(arguments).wait();
}

}  // namespace quiesce::cli

#endif  // QUIESCE_TESTS_CLI_PROCESS_H_
